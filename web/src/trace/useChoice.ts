import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TraceApi } from "./api";
import type { Engine } from "./engine";
import type { DrawnSlice } from "./hit";
import type { Spot } from "./paint";
import type { StateChange } from "./state";
import type { Flows, Place, SliceDetails } from "./types";
import { type Answer, useAnswer } from "./useAnswer";
import { focusOn, reveal } from "./view";

export interface Choice {
  details: Answer<SliceDetails>;
  /** Slices in one that were chosen; they have no id, hence no address. */
  merged: DrawnSlice | null;
  /** What is chosen, as soon as it is. */
  spot: Spot | null;
  pick(slice: DrawnSlice | null, mode?: "push" | "replace"): void;
  jump(place: Place, mode?: "push" | "replace"): void;
  /** Chooses a slice beside the chosen one and follows it. */
  walk(slice: DrawnSlice): void;
  /** Brings what is chosen into full view. */
  focus(): void;
}

interface ChoiceContext {
  api: TraceApi;
  engine: Engine;
  /** Whether the address said at first what to show: a link shows what its author saw. */
  placed: boolean;
  onState(next: StateChange, mode: "push" | "replace"): void;
  scrollTo(spot: Spot): void;
}

/** The chosen slice: in the address, in the engine, and what the server knows about it. */
export function useChoice(
  { api, engine, placed, onState, scrollTo }: ChoiceContext,
  select: number | undefined,
  flows: Flows | null,
  path: Flows | null,
): Choice {
  const [merged, setMerged] = useState<DrawnSlice | null>(null);
  const [spot, setSpot] = useState<Spot | null>(null);
  /** The slice we know to be in sight, as it was chosen there. */
  const seen = useRef<number | undefined>(undefined);
  /** Whether the first slice is to be left where it is. */
  const keepPosition = useRef(placed);
  const fetchDetails = select === undefined ? null : (call: object) => api.slice(select, call);
  const answer = useAnswer(fetchDetails, [api, select]);
  // What is known about another slice is not about this one.
  const details = answer.value?.id === select ? answer : { ...answer, value: null };

  const show = (place: Spot) => {
    scrollTo(place);
    const { aim, timeline } = engine;
    const to = place.from_ns + place.dur_ns;
    const view = reveal(aim, place.from_ns, to, timeline.length_ns);
    if (view !== aim) engine.glide(view);
  };
  const pick = (slice: DrawnSlice | null, mode: "push" | "replace" = "push") => {
    keepPosition.current = false;
    setSpot(slice);
    setMerged(slice && slice.id < 0 ? slice : null);
    const id = slice && slice.id >= 0 ? slice.id : undefined;
    seen.current = id;
    if (id !== select) onState({ select: id }, mode);
  };
  const jump = (place: Place, mode: "push" | "replace" = "push") => {
    keepPosition.current = false;
    setSpot(place);
    setMerged(null);
    seen.current = place.id;
    if (place.id !== select) onState({ select: place.id }, mode);
    show(place);
  };
  const walk = (slice: DrawnSlice) => {
    pick(slice, "replace");
    show(slice);
  };

  useEffect(() => {
    if (select === undefined && !merged) setSpot(null);
  }, [select, merged]);
  useEffect(() => {
    const place = details.value;
    if (!place) return;
    setMerged(null);
    setSpot(place);
    if (keepPosition.current) scrollTo(place);
    else if (seen.current !== place.id) show(place);
    keepPosition.current = false;
    seen.current = place.id;
  }, [details.value]);
  const arrows = useMemo(() => arrowsOf(details.value, flows, path), [details.value, flows, path]);
  useEffect(() => {
    engine.selected = spot;
    engine.arrows = arrows;
    engine.redraw();
  }, [engine, spot, arrows]);

  const focus = () => {
    if (!spot) return;
    scrollTo(spot);
    const to = spot.from_ns + spot.dur_ns;
    engine.glide(focusOn(engine.aim, spot.from_ns, to, engine.timeline.length_ns));
  };
  return { details, merged, spot, pick, jump, walk, focus };
}

function arrowsOf(
  slice: SliceDetails | null,
  flows: Flows | null,
  path: Flows | null,
): Engine["arrows"] {
  const pairs = (of: Flows | null) => (of?.from ?? []).map((from, i) => ({ from, to: of!.to[i]! }));
  const all = pairs(flows).map((pair) => ({ ...pair, strong: false }));
  const along = pairs(path).map((pair) => ({ ...pair, strong: false, path: true }));
  const sliceFlows = (slice?.flows ?? []).map(({ direction, place }) => ({
    from: direction === "to" ? slice! : place,
    to: direction === "to" ? place : slice!,
    strong: true,
  }));
  return [...all, ...along, ...sliceFlows];
}
