// State of the trace view in the address, so that a link shows the same view.

import { asClock } from "../components/clocks";
import type { Clock } from "../document/types";

export interface TraceState {
  /** What is in view, nanoseconds since the start of the recording. */
  from?: number;
  to?: number;
  /** Id of the chosen slice. */
  select?: number;
  /** What is searched for. */
  q?: string;
  /** A chosen stretch of time. */
  range?: [from: number, to: number];
  /** Names of groups that are not as they open; `#7` is the track with id 7. */
  collapsed?: string[];
  /** Deep tracks, by id, of which all rows are shown. */
  deep?: number[];
  /** The clock; as recorded unless given. */
  clock?: Clock;
  /** Whether the critical path is shown: 1. */
  path?: number;
  /** Whether profiler overhead is shown: unless this is 0. */
  recording?: number;
}

/** Keys that are to vanish from the address are there with the value undefined. */
export type StateChange = { [K in keyof TraceState]?: TraceState[K] | undefined };

/** Reads entries of a query; what makes no sense is left out. */
export function readState(entries: Readonly<Record<string, string | undefined>>): TraceState {
  const state: TraceState = {};
  const from = number(entries.from);
  const to = number(entries.to);
  if (from !== null && to !== null && to > from) Object.assign(state, { from, to });
  const select = number(entries.select);
  if (select !== null && select >= 0) state.select = select;
  if (entries.q) state.q = entries.q;
  const [start, end] = (entries.range ?? "").split("-").map(number);
  if (start != null && end != null && end > start) state.range = [start, end];
  const collapsed = (entries.collapsed ?? "").split("|").filter(Boolean);
  if (collapsed.length) state.collapsed = collapsed.map(decodeURIComponent);
  const deep = (entries.deep ?? "").split("-").map(number);
  if (deep.every((id) => id !== null)) state.deep = deep;
  const clock = asClock(entries.clock);
  if (clock) state.clock = clock;
  if (entries.path === "1") state.path = 1;
  if (entries.recording === "0") state.recording = 0;
  return state;
}

/** The change as entries of a query; "" for those that are to vanish. */
export function writeState(change: StateChange): Record<string, string> {
  const entries: Record<string, string> = {};
  for (const [key, value] of Object.entries(change)) entries[key] = formatValue(value);
  return entries;
}

function formatValue(value: TraceState[keyof TraceState]): string {
  if (value === undefined) return "";
  if (!Array.isArray(value)) return typeof value === "number" ? digits(value) : value;
  return value
    .map((part) => (typeof part === "number" ? digits(part) : escapeName(part)))
    .join(typeof value[0] === "number" ? "-" : "|");
}

function digits(value: number): string {
  return String(Math.max(0, Math.round(value)));
}

function escapeName(name: string): string {
  return name.replace(/[%|]/g, encodeURIComponent);
}

function number(text: string | undefined): number | null {
  return text && Number.isFinite(Number(text)) ? Number(text) : null;
}
