// The trace view: a timeline of any size.

import { useState } from "preact/hooks";
import "./trace.css";
import "./panel.css";
import type { TraceApi } from "./api";
import { Stage } from "./Stage";
import type { StateChange, TraceState } from "./state";
import { Trouble, Waiting } from "./Trouble";
import { useAnswer } from "./useAnswer";

export type { TraceApi } from "./api";
export { fetchTraceApi } from "./api";
export type { StateChange, TraceState } from "./state";
export { readState, writeState } from "./state";

export interface TraceViewProps {
  /** One per recording: a new one opens the timeline anew. */
  api: TraceApi;
  state: TraceState;
  /** Keys given as undefined are to leave the address; keys not given stay. */
  onState(next: StateChange, how: "push" | "replace"): void;
  /** Where a page of this run is that looks for something, e.g. the operator of a slice. */
  hrefOf(page: "operators" | "kernels" | "modules", search: string): string;
}

export function TraceView(props: TraceViewProps) {
  const [attempt, setAttempt] = useState(0);
  const { api } = props;
  const timeline = useAnswer((call) => api.tracks(call), [api, attempt]);
  if (timeline.error) {
    return <Trouble error={timeline.error} onAgain={() => setAttempt(attempt + 1)} />;
  }
  if (!timeline.value) return <Waiting progress={timeline.progress} />;
  if (!timeline.value.tracks.length) {
    return <p class="trace-waiting">This recording has no events, so there is no timeline.</p>;
  }
  return <Stage {...props} timeline={timeline.value} />;
}
