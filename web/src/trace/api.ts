// The server's timeline routes as functions.

import type { Table } from "../document/types";
import { decodeSlices, type SlicesAnswer } from "./decode";
import type { CounterPoints, Flows, Found, SliceDetails, Timeline } from "./types";

/** What the server does while it lets us wait. */
export interface Progress {
  doing: string;
  /** 0 to 1, or null where nobody knows. */
  share: number | null;
  waited_s: number;
}

export interface Call {
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
}

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
  counters(window: Window, call?: Call): Promise<CounterPoints>;
  slice(id: number, call?: Call): Promise<SliceDetails>;
  flows(range: Range, tracks: readonly number[], call?: Call): Promise<Flows>;
  aggregate(range: Range, tracks: readonly number[], call?: Call): Promise<Table>;
  search(q: string, call?: Call): Promise<Found>;
  /** Address of a trace file of the range, or of everything. */
  exportUrl(range?: Range): string;
}

/** What the server said instead of an answer: a sentence, and what to do about it. */
export class TraceError extends Error {
  readonly hint: string;
  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

const ASK_AGAIN_MS = 300;
/** How often a server that has too much to do is asked again. */
const PATIENCE = 10;

/**
 * The routes beneath `base` (which ends in "/") for one recording, e.g.
 * `fetchTraceApi(new URL("../", import.meta.url), { run, worker, span })`.
 */
export function fetchTraceApi(
  base: string | URL,
  query: { run: string; worker?: string | undefined; span?: string | undefined },
): TraceApi {
  const address = (route: string, more: Record<string, string> = {}) => {
    const url = new URL(`api/timeline/${route}`, base);
    for (const [key, value] of Object.entries({ ...query, ...more })) {
      if (value) url.searchParams.set(key, value);
    }
    return url.href;
  };
  const json = async <T>(route: string, more: Record<string, string>, call?: Call) =>
    (await (await answer(address(route, more), call)).json()) as T;
  const within = (window: Window) => ({
    ...ends([window.from, window.to]),
    pixels: String(window.pixels),
    tracks: window.tracks.join(","),
  });
  return {
    tracks: (call) => json("tracks", {}, call),
    slices: async (window, call) => {
      const response = await answer(address("slices", within(window)), call);
      return decodeSlices(await response.arrayBuffer());
    },
    counters: (window, call) => json("counters", within(window), call),
    slice: (id, call) => json("slice", { id: String(id) }, call),
    flows: (range, tracks, call) =>
      json("flows", { ...ends(range), tracks: tracks.join(",") }, call),
    aggregate: (range, tracks, call) =>
      json("aggregate", { ...ends(range), tracks: tracks.join(",") }, call),
    search: (q, call) => json("search", { q }, call),
    exportUrl: (range) => address("export", range ? ends(range) : {}),
  };
}

function ends([from, to]: Range): Record<string, string> {
  return { from: String(Math.floor(from)), to: String(Math.ceil(to)) };
}

/** The answer once it is there; tells what the server does until then. */
async function answer(url: string, call: Call = {}): Promise<Response> {
  for (let refused = 0; ; ) {
    const response = await fetch(url, call.signal ? { signal: call.signal } : {}).catch((error) => {
      if (call.signal?.aborted) throw error;
      throw new TraceError("The server does not answer.", "Is `timesink serve` still running?");
    });
    if (response.status === 202) {
      call.onProgress?.((await response.json()) as Progress);
      await pause(ASK_AGAIN_MS, call.signal);
    } else if (response.status === 503 && refused++ < PATIENCE) {
      await pause(ASK_AGAIN_MS, call.signal);
    } else if (response.ok) {
      return response;
    } else {
      throw await failure(response);
    }
  }
}

async function failure(response: Response): Promise<TraceError> {
  const told = (await response.json().catch(() => ({}))) as { error?: string; hint?: string };
  return new TraceError(
    told.error ?? `The server answers ${response.status} ${response.statusText}.`,
    told.hint ?? "",
  );
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
