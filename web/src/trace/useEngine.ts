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
  settled: Range | null;
}

/** The engine of a timeline; its view and the address follow each other. */
export function useEngine(
  api: TraceApi,
  timeline: Timeline,
  layout: Layout,
  state: TraceState,
  onState: (next: StateChange, mode: "push" | "replace") => void,
): EngineState {
  const [loading, setLoading] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const [settled, setRested] = useState<Range | null>(null);
  /** The view in the address, as last read or written. */
  const address = useRef<{ from?: number | undefined; to?: number | undefined }>({});
  const publish = useRef(onState);
  publish.current = onState;

  const engine = useMemo(() => {
    const onRest = (view: View) => {
      setRested([view.from, view.to]);
      const next = addressOf(view, timeline.length_ns);
      if (next.from === address.current.from && next.to === address.current.to) return;
      address.current = next;
      publish.current(next, "replace");
    };
    const events = { onLoading: setLoading, onError: setError, onRest };
    return new Engine(api, timeline, layout, events);
  }, [api, timeline]);

  useEffect(() => onThemeChange(() => engine.restyle()), [engine]);
  useEffect(() => engine.arrange(layout), [engine, layout]);
  useEffect(() => {
    const { from, to } = state;
    if (from === address.current.from && to === address.current.to) return;
    const first = engine.height === 0;
    address.current = { from, to };
    const { width } = engine.view;
    const hasRange = from !== undefined && to !== undefined;
    const view = hasRange ? { from, to, width } : fitAll(timeline.length_ns, width);
    if (first) engine.show(view);
    else engine.glide(view);
  }, [engine, state.from, state.to]);
  return { engine, loading, error, settled };
}
