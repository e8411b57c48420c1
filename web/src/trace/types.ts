// What the server says about a timeline.  Times are nanoseconds since the start of the recording,
// exact in a JavaScript number up to 104 days.

/** `api/timeline/tracks` */
export interface Timeline {
  /** Of the clock of the recording, as digits: too large for a number. */
  start_ns: string;
  length_ns: number;
  events: number;
  tracks: Track[];
  steps: { name: string; from_ns: number; to_ns: number }[];
}

export interface Track {
  id: number;
  kind: "host" | "annotation" | "device" | "communication" | "counter" | "memory";
  /** Process or device; tracks of one group stand together. */
  group: string;
  name: string;
  /** Rows of nested slices; 1 for counters. */
  rows: number;
  events: number;
  /** Unit of a counter as people write it; "" for slices. */
  unit: string;
  /** Range of a counter. */
  lowest: number;
  highest: number;
}

/**
 * `api/timeline/slices?from=&to=&pixels=&tracks=1,2,3`: what is visible, merged below a pixel.
 *
 * Little-endian: uint32 length of a JSON head, the head (padded with spaces to a multiple of 8
 * with its length field), then the arrays in the order the head lists them, each padded to 8 bytes.
 */
export interface SlicesHead {
  slices: number;
  /** Names by code, for the codes in this answer; cut at 160 characters. */
  names: Record<string, string>;
  /** Short names of kernels, where they differ. */
  short?: Record<string, string>;
  /** `[name, type, length]`; type is "f64", "u32", "i32", "u16" or "u8". */
  arrays: [name: string, type: string, length: number][];
  /** Nanoseconds below which slices were merged. */
  resolution_ns: number;
}

/** The arrays of `SlicesHead`, one entry per slice, by track, row and start. */
export interface Slices {
  track: Uint16Array;
  row: Uint16Array;
  start: Float64Array;
  dur: Float64Array;
  /** Code of the name; of merged slices the one that takes most time. */
  name: Uint32Array;
  /** 1, or how many slices were merged. */
  count: Uint32Array;
  /** Of a merged slice: the time its slices take, at most `dur`. */
  busy: Float64Array;
  /** Which slice; -1 where several were merged. */
  id: Int32Array;
}

/** `api/timeline/counters?from=&to=&pixels=&tracks=`: points of counter tracks, thinned. */
export interface CounterPoints {
  tracks: {
    track: number;
    x: number[];
    /** Lowest, mean and highest value until the next x. */
    low: number[];
    mean: number[];
    high: number[];
  }[];
}

/** A slice named in an answer. */
export interface Place {
  id: number;
  track: number;
  row: number;
  from_ns: number;
  dur_ns: number;
  name: string;
}

/** `api/timeline/slice?id=` */
export interface SliceDetails extends Place {
  /** Time not in slices nested below. */
  self_ns: number;
  kind: string;
  facts: [label: string, value: string][];
  /** Slices around it on its thread, the outermost first. */
  around: Place[];
  /** Launch -> device work and back; forward -> backward. */
  flows: { kind: string; direction: "to" | "from"; place: Place }[];
  links: { label: string; page: "operators" | "kernels" | "modules"; search: string }[];
}

/** `api/timeline/flows?from=&to=&tracks=`: arrows within a range, at most `limit` of `total`. */
export interface Flows {
  total: number;
  from: Place[];
  to: Place[];
}

/** Overlays: profiler overhead, critical path. */
export type Overlay = "recording" | "path";

/** `api/timeline/clock`: step time as recorded, and without profiler overhead. */
export interface ClockInfo {
  recorded_cycle_us: number;
  own_cycle_us: number | null;
  ci95_us: [low: number, high: number] | null;
  source: "measured" | "estimated" | "none";
  /** Why the overhead is not known, as a sentence. */
  why: string;
  /** Host time spent on recording, on all threads. */
  recording_ns: number;
}

/** `api/timeline/search?q=&from=&to=` */
export interface SearchResult {
  /** Slices that match in the whole recording. */
  total: number;
  names: { name: string; count: number; total_ns: number }[];
  /** The first of them by time, at most 1000. */
  hits: Place[];
}

// `api/timeline/aggregate?from=&to=&tracks=` answers a Table block (document/types.ts): name, kind,
// calls, total (cut to the range), share of the range, mean, longest.
// `api/timeline/overlay?of=&from=&to=&pixels=&tracks=` answers parts of slices as `slices` does.
// `api/timeline/path?from=&to=` answers where the critical path changes its track, as `flows` does.
// `api/timeline/export?from=&to=` answers a Chrome-format trace, gzipped, as a download.
