// Where lines of a grid stand: at round numbers of the unit people read, not of bytes or nanoseconds.

import type { Curves, Kind } from "../../document/types";
import { format } from "../../format/format";

/** Steps of a grid over bytes: powers of two. */
const BINARY = Array.from({ length: 51 }, (_, power) => 2 ** power);

/** Steps to choose from; undefined for those of decimal numbers. */
export function gridSteps(kind: Kind): number[] | undefined {
  return kind === "bytes" || kind === "bytes_per_s" ? BINARY : undefined;
}

/** A word for a line of the grid: without decimals that say nothing. */
export function gridWord(kind: Kind, value: number): string {
  return format(kind, value)
    .replace(/(\.\d*?)0+(?= |$)/, "$1")
    .replace(/\.(?= |$)/, "");
}

const SECONDS: [size: number, unit: string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "us"],
  [1, "ns"],
];

/** Steps of a grid over times of day: those of clocks. */
export const CLOCK_STEPS = [1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400].map(
  (seconds) => seconds * 1e9,
);

/** What an x is called: by its label, else as a moment. */
export function placeWord(block: Curves, index: number): string {
  const x = block.x[index];
  if (block.of_day && x !== undefined) return clockWord(x);
  return block.labels[index] ?? format("moment_ns", x);
}

/** Nanoseconds since midnight as clocks show them. */
export function clockWord(of_day_ns: number): string {
  const seconds = Math.floor(of_day_ns / 1e9) % 86_400;
  const parts = [seconds / 3600, (seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(Math.floor(part)).padStart(2, "0")).join(":");
}

/** Labels at lines of a grid; those between two have none. */
export function labelWords(labels: string[], places: number[]): string[] {
  return places.map((place) => labels[place] ?? "");
}

/** Words for moments, all in the unit that suits the distance between them. */
export function momentWords(moments: number[]): string[] {
  const step = Math.abs((moments[1] ?? 0) - (moments[0] ?? 0)) || 1;
  const [size, unit] = SECONDS.find(([size]) => step >= size) ?? [1, "ns"];
  return moments.map((moment) => `${Number((moment / size).toFixed(3))} ${unit}`);
}
