// The server's timeline routes as functions.

import type { Client, RequestOptions } from "../api/client";
import type { Params } from "../api/types";
import type { Clock, Table } from "../document/types";
import { decodeSlices, type SlicesAnswer } from "./decode";
import type {
  ClockInfo,
  CounterPoints,
  Flows,
  Overlay,
  SearchResult,
  SliceDetails,
  Timeline,
} from "./types";

export type Call = RequestOptions;

/** A part of the recording as seen on so many pixels. */
export interface Window {
  from: number;
  to: number;
  pixels: number;
  tracks: readonly number[];
}

export type Range = readonly [from: number, to: number];

export interface TraceApi {
  tracks(call?: Call): Promise<Timeline>;
  slices(window: Window, call?: Call): Promise<SlicesAnswer>;
  overlay(of: Overlay, window: Window, call?: Call): Promise<SlicesAnswer>;
  counters(window: Window, call?: Call): Promise<CounterPoints>;
  slice(id: number, call?: Call): Promise<SliceDetails>;
  flows(range: Range, tracks: readonly number[], call?: Call): Promise<Flows>;
  /** Where the critical path goes from one track to another. */
  path(range: Range, call?: Call): Promise<Flows>;
  clock(call?: Call): Promise<ClockInfo>;
  /** Where a range is on the other clock. */
  otherClock(range: Range, call?: Call): Promise<{ from_ns: number; to_ns: number }>;
  aggregate(range: Range, tracks: readonly number[], call?: Call): Promise<Table>;
  search(q: string, call?: Call): Promise<SearchResult>;
  /** Address of a trace file of the range, or of everything. */
  exportUrl(range?: Range): string;
}

/** The routes for one recording, asked through the client of the page. */
export function fetchTraceApi(
  client: Client,
  recording: {
    run: string;
    worker?: string | undefined;
    span?: string | undefined;
    clock?: Clock | undefined;
  },
): TraceApi {
  const json = <T>(route: string, more: Params, call?: Call) =>
    client.json<T>(`timeline/${route}`, { ...recording, ...more }, call);
  const slices = async (route: string, more: Params, call?: Call) =>
    decodeSlices(await client.binary(`timeline/${route}`, { ...recording, ...more }, call));
  return {
    tracks: (call) => json("tracks", {}, call),
    slices: (window, call) => slices("slices", within(window), call),
    overlay: (of, window, call) => slices("overlay", { of, ...within(window) }, call),
    counters: (window, call) => json("counters", within(window), call),
    slice: (id, call) => json("slice", { id }, call),
    flows: (range, tracks, call) => json("flows", { ...ends(range), ...only(tracks) }, call),
    path: (range, call) => json("path", ends(range), call),
    clock: (call) => json("clock", {}, call),
    otherClock: (range, call) => json("other_clock", ends(range), call),
    aggregate: (range, tracks, call) =>
      json("aggregate", { ...ends(range), ...only(tracks) }, call),
    search: (q, call) => json("search", { q }, call),
    exportUrl: (range) =>
      client.href("timeline/export", { ...recording, ...(range && ends(range)) }),
  };
}

function within({ from, to, pixels, tracks }: Window): Params {
  return { ...ends([from, to]), pixels, ...only(tracks) };
}

function ends([from, to]: Range): Params {
  return { from: Math.floor(from), to: Math.ceil(to) };
}

/** Some tracks; all of them where none is named. */
function only(tracks: readonly number[]): Params {
  return { tracks: tracks.join(",") };
}
