import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { onThemeChange } from "../components/theme";
import type { Range, TraceApi } from "./api";
import { Engine } from "./engine";
import type { Layout } from "./layout";
import type { StateChange, TraceState } from "./state";
import type { Timeline } from "./types";
import { addressOf, fitAll, type View } from "./view";

interface EngineState {
  engine: Engine;
  loading: boolean;
  error: Error | null;
  /** What is in view once it stands still. */
  rested: Range | null;
}

/** The engine of a timeline; its view and the address follow each other. */
export function useEngine(
  api: TraceApi,
  timeline: Timeline,
  layout: Layout,
  state: TraceState,
  onState: (next: StateChange, how: "push" | "replace") => void,
): EngineState {
  const [loading, setLoading] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const [rested, setRested] = useState<Range | null>(null);
  /** What the address says about the view, as far as we know. */
  const told = useRef<{ from?: number | undefined; to?: number | undefined }>({});
  const tell = useRef(onState);
  tell.current = onState;

  const engine = useMemo(() => {
    const onRest = (view: View) => {
      setRested([view.from, view.to]);
      const next = addressOf(view, timeline.length_ns);
      if (next.from === told.current.from && next.to === told.current.to) return;
      told.current = next;
      tell.current(next, "replace");
    };
    const events = { onLoading: setLoading, onError: setError, onRest };
    return new Engine(api, timeline, layout, events);
  }, [api, timeline]);

  useEffect(() => onThemeChange(() => engine.restyle()), [engine]);
  useEffect(() => engine.arrange(layout), [engine, layout]);
  useEffect(() => {
    const { from, to } = state;
    if (from === told.current.from && to === told.current.to) return;
    const first = engine.height === 0;
    told.current = { from, to };
    const { width } = engine.view;
    const known = from !== undefined && to !== undefined;
    const view = known ? { from, to, width } : fitAll(timeline.length_ns, width);
    if (first) engine.show(view);
    else engine.glide(view);
  }, [engine, state.from, state.to]);
  return { engine, loading, error, rested };
}
