// The timeline with everything around it.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { format } from "../format/format";
import type { Range } from "./api";
import { Canvas } from "./Canvas";
import { Details, Merged } from "./Details";
import { ErrorNotice } from "./ErrorNotice";
import { KeySheet } from "./KeySheet";
import type { Command } from "./keys";
import { isCurve } from "./layout";
import { Panel, type Tab } from "./Panel";
import type { Spot } from "./paint";
import { RangeTable } from "./RangeTable";
import { SearchResults } from "./SearchResults";
import { Toolbar } from "./Toolbar";
import type { TraceViewProps } from "./TraceView";
import type { Timeline } from "./types";
import { useAnswer } from "./useAnswer";
import { useBatched } from "./useBatched";
import { useChoice } from "./useChoice";
import { useEngine } from "./useEngine";
import { useFolding } from "./useFolding";
import { useKeys } from "./useKeys";
import { useOverlays } from "./useOverlays";
import { useSearch } from "./useSearch";
import { fitAll, panBy, toX, zoomAt } from "./view";

const ZOOM = 1.5;

export function Stage(props: TraceViewProps & { timeline: Timeline }) {
  const { api, timeline, state, hrefOf } = props;
  const onState = useBatched(props.onState);
  const { layout, toggle, unfold, reveal } = useFolding(timeline, state, onState);
  const { engine, loading, error, settled } = useEngine(api, timeline, layout, state, onState);
  const [tab, setTab] = useState("slice");
  const [help, setHelp] = useState(false);
  const [arrows, setArrows] = useState(false);
  const scroller = useRef<HTMLDivElement>(null);
  const searchBox = useRef<HTMLInputElement>(null);
  const tracks = useMemo(() => new Map(timeline.tracks.map((it) => [it.id, it])), [timeline]);

  const flowRange = arrows && settled ? settled : null;
  const fetchFlows = flowRange && ((call: object) => api.flows(flowRange, [], call));
  const flows = useAnswer(fetchFlows, [api, flowRange]);
  const {
    clock,
    overlays,
    arrows: path,
    commands: ofClock,
  } = useOverlays(props, engine, settled, onState);
  /** A slice to scroll to once its row is shown. */
  const hidden = useRef<Spot | null>(null);
  const scrollTo = (spot: Spot) => {
    hidden.current = reveal(spot) ? spot : null;
    const top = engine.scrollFor(spot);
    if (top !== null) scroller.current?.scrollTo({ top });
  };
  useEffect(() => {
    if (hidden.current) scrollTo(hidden.current);
  }, [layout]);
  const [placed] = useState(state.from !== undefined);
  const choice = useChoice(
    { api, engine, placed, onState, scrollTo },
    state.select,
    flows.value,
    path,
  );
  const search = useSearch(api, engine, state.q ?? "", (place) => {
    choice.jump(place, "replace");
    setTab("slice");
  });
  const setSearch = (q: string) => {
    onState({ q: q || undefined }, "replace");
    setTab("search");
  };
  const setRange = (range: Range | null) => {
    onState({ range: range ? [range[0], range[1]] : undefined }, "push");
    setTab("range");
  };
  useEffect(() => {
    engine.range = state.range ?? null;
    engine.redraw();
  }, [engine, state.range?.join()]);

  const clear = () => {
    if (state.range) onState({ range: undefined }, "push");
    else if (choice.spot) choice.pick(null);
    else if (state.q) setSearch("");
  };
  const zoom = (factor: number) => {
    const { spot } = choice;
    const { aim, view } = engine;
    const middle = spot ? toX(view, spot.from_ns + spot.dur_ns / 2) : -1;
    const center = middle >= 0 && middle <= view.width ? middle : view.width / 2;
    engine.glide(zoomAt(aim, engine.cursor ?? center, factor, timeline.length_ns));
  };
  const walk = (way: "next" | "previous" | "outer" | "inner") => {
    const slice = choice.spot ? engine.adjacentSlice(choice.spot, way) : engine.firstSpot();
    if (!slice) return;
    choice.walk(slice);
    setTab("slice");
  };
  const commands: Record<Command, () => void> = {
    "zoom in": () => zoom(ZOOM),
    "zoom out": () => zoom(1 / ZOOM),
    left: () => engine.glide(panBy(engine.aim, -engine.view.width / 6, timeline.length_ns)),
    right: () => engine.glide(panBy(engine.aim, engine.view.width / 6, timeline.length_ns)),
    up: () => scroller.current?.scrollBy({ top: -engine.height * 0.8 }),
    down: () => scroller.current?.scrollBy({ top: engine.height * 0.8 }),
    fit: () => engine.glide(fitAll(timeline.length_ns, engine.view.width)),
    focus: choice.focus,
    range: () => {
      const { spot } = choice;
      if (spot) setRange([spot.from_ns, spot.from_ns + spot.dur_ns]);
    },
    search: () => searchBox.current?.select(),
    "next hit": () => search.step(1),
    "previous hit": () => search.step(-1),
    next: () => walk("next"),
    previous: () => walk("previous"),
    outer: () => walk("outer"),
    inner: () => walk("inner"),
    flows: () => setArrows(!arrows),
    ...ofClock,
    clear,
    help: () => setHelp(!help),
  };
  useKeys((command) => commands[command](), help);

  const { spot, merged, details } = choice;
  const tabs: Tab[] = [];
  if (merged || state.select !== undefined) {
    const content = merged ? (
      <Merged slice={merged} name={engine.names.text(merged.code)} onZoom={choice.focus} />
    ) : (
      <Details {...{ details, hrefOf }} onJump={choice.jump} />
    );
    tabs.push({ id: "slice", title: "Slice", content, onClose: () => choice.pick(null) });
  }
  if (state.range) {
    const title = `Range of ${format("time_ns", state.range[1] - state.range[0])}`;
    const content = (
      <RangeTable {...{ api, hrefOf }} range={state.range} tracks={visibleTracks(engine)} />
    );
    tabs.push({ id: "range", title, content, onClose: clear });
  }
  if (state.q) {
    const content = <SearchResults result={search.result} q={state.q} onSearch={setSearch} />;
    tabs.push({ id: "search", title: "Search", content, onClose: () => setSearch("") });
  }
  return (
    <div class="trace">
      <Toolbar
        {...{ api, loading, search, searchBox, clock, overlays }}
        withoutOverhead={state.clock === "own"}
        onSearch={setSearch}
        q={state.q ?? ""}
        flows={arrows ? flows : null}
        range={state.range ?? null}
        run={(command) => commands[command]()}
      />
      {error && <ErrorNotice error={error} onRetry={() => engine.redraw()} />}
      <Canvas
        {...{ engine, layout, scroller }}
        chosen={spot}
        onToggle={toggle}
        onUnfold={unfold}
        onPick={(slice) => {
          choice.pick(slice);
          setTab("slice");
        }}
        onRange={setRange}
      />
      <div class="visually-hidden" aria-live="polite">
        {spot && details.value
          ? `${details.value.name}, ${format("time_ns", spot.dur_ns)}, ${tracks.get(spot.track)?.name}`
          : ""}
      </div>
      <Panel tabs={tabs} open={tab} onOpen={setTab} />
      {help && <KeySheet onClose={() => setHelp(false)} />}
    </div>
  );
}

/** Tracks that a range is about: those of open groups, or all. */
function visibleTracks({
  layout,
  timeline,
}: {
  layout: { byTrack: Map<number, unknown> };
  timeline: Timeline;
}) {
  const visible = [...layout.byTrack.keys()];
  const slices = timeline.tracks.filter((track) => !isCurve(track));
  return slices.every(({ id }) => layout.byTrack.has(id)) ? [] : visible;
}
