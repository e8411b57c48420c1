// The trace view: a timeline of any size.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import "./trace.css";
import "./panel.css";
import type { Progress } from "../api/types";
import type { TraceApi } from "./api";
import { Stage } from "./Stage";
import type { StateChange, TraceState } from "./state";
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
  onState(next: StateChange, mode: "push" | "replace"): void;
  /** Where a page of this run is that looks for something, e.g. the operator of a slice. */
  hrefOf(page: "operators" | "kernels" | "modules", search: string): string;
}

/** What the page shows while there is no timeline, or none at all. */
interface Fallbacks {
  renderProgress(progress: Progress | null): ComponentChildren;
  renderError(error: Error, retry: () => void): ComponentChildren;
}

export function TraceView({ renderProgress, renderError, ...props }: TraceViewProps & Fallbacks) {
  const [attempt, setAttempt] = useState(0);
  const { api } = props;
  const timeline = useAnswer((call) => api.tracks(call), [api, attempt]);
  if (timeline.error) return <>{renderError(timeline.error, () => setAttempt(attempt + 1))}</>;
  if (!timeline.value) return <>{renderProgress(timeline.progress)}</>;
  if (!timeline.value.tracks.length) {
    return <p class="trace-waiting">This recording has no events, so there is no timeline.</p>;
  }
  return <Stage {...props} timeline={timeline.value} />;
}
