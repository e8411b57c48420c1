import type { Document } from "../../document/types";

/** `api/runs`: the contents of the served folder. */
export interface RunsAnswer {
  logdir: string;
  version: string;
  /** Changes whenever anything changed. */
  generation: string | number;
  runs: Run[];
  /** Folders of `timesink ab`: each is one comparison. */
  ab: AbRuns[];
  /** Programs of `timesink watch`. */
  watches: WatchedProgram[];
  /** Histories in the store of baselines. */
  histories: string[];
}

export interface WatchedProgram {
  name: string;
  /** State by its watcher; "gone" without a watcher, "" where it cannot be read. */
  state: string;
}

/** `api/watch`: the last report of a watcher. */
export interface WatchAnswer {
  name: string;
  state: string;
  gone: boolean;
  /** By id: whether there is a report, and the runs to compare where both were recorded. */
  incidents: Record<string, { report: boolean; base?: string; new?: string }>;
  document: Document;
}

export interface AbRuns {
  name: string;
  /** Number of compared runs. */
  runs: number;
  complete: boolean;
  changed_s: number;
  /** The run with a timeline, of base and of new. */
  timelines: { base?: string; new?: string };
}

export interface Run {
  name: string;
  workers: { name: string; spans: string[] }[];
  bytes: number;
  /** Last change of a file, seconds since 1970. */
  changed_s: number;
  /** Whether it is being written to. */
  growing: boolean;
  /** Whether it has a trace. */
  timeline: boolean;
  /** Whether it has a table of steps, as baselines have. */
  behaviour: boolean;
  /** Files of Nsight Compute in its folder. */
  counters: string[];
}
