import type { Document } from "../../document/types";

/** `api/runs`: what is below the served folder. */
export interface RunsAnswer {
  logdir: string;
  version: string;
  /** Another one whenever anything changed. */
  generation: string | number;
  runs: Run[];
  /** Runs of two versions in turn: each folder is one comparison. */
  ab: AbRuns[];
  /** Programs that are, or were, watched. */
  watches: WatchedProgram[];
  /** Series of commits in the store of baselines. */
  histories: string[];
}

export interface WatchedProgram {
  name: string;
  /** As its watcher says; "gone" where it no longer does, "" where that cannot be read. */
  state: string;
}

/** `api/watch`: what a watcher told last. */
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
  /** How many are compared. */
  runs: number;
  complete: boolean;
  changed_s: number;
  /** The run with a timeline of each side that has one. */
  timelines: { base?: string; new?: string };
}

export interface Run {
  name: string;
  workers: { name: string; spans: string[] }[];
  bytes: number;
  /** When the youngest file changed, seconds since 1970. */
  changed_s: number;
  /** Whether it is being written to. */
  growing: boolean;
  /** Whether it has a trace to look at. */
  timeline: boolean;
  /** Whether it has a table of cycles, as baselines have. */
  behaviour: boolean;
  /** Files of Nsight Compute in its folder. */
  counters: string[];
}
