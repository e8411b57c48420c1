// Marks of the time ruler and words for times on it.

import { format } from "../format/format";

export interface Tick {
  time: number;
  label: string;
}

const SECOND = 1e9;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Steps of clocks, beyond those of tens. */
const LONG_STEPS = [
  ...[1, 2, 5, 10, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 6, 12].map((hours) => hours * HOUR),
];
const UNITS: [size: number, unit: string][] = [
  [SECOND, "s"],
  [1e6, "ms"],
  [1e3, "us"],
  [1, "ns"],
];

/** Round times within a view, about one per `apart` pixels; small marks are a fifth of the step. */
export function ticks(
  from: number,
  to: number,
  width: number,
  apart = 110,
): { step: number; marks: Tick[] } {
  const step = niceStep(((to - from) / width) * apart);
  const marks: Tick[] = [];
  for (let i = Math.ceil(from / step); i * step <= to; i++) {
    if (i >= 0) marks.push({ time: i * step, label: tickLabel(i * step, step) });
  }
  return { step, marks };
}

/** 1, 2 or 5 times a power of ten, at least `least` and at least a nanosecond; long ones by the clock. */
export function niceStep(min: number): number {
  if (min <= 1) return 1;
  if (min > 12 * HOUR) return DAY * niceStep(min / DAY);
  if (min > 20 * SECOND) return LONG_STEPS.find((step) => step >= min)!;
  const power = 10 ** Math.floor(Math.log10(min));
  for (const times of [1, 2, 5]) {
    // Rounding of logarithms must not make 10 of 1.
    if (times * power >= min * (1 - 1e-9)) return times * power;
  }
  return 10 * power;
}

/** A time on the ruler, with the digits that the step between marks needs. */
export function tickLabel(time: number, step: number): string {
  if (time === 0) return "0";
  if (step >= MINUTE) return clock(time);
  const [size, unit] = UNITS.find(([limit]) => Math.abs(time) >= limit) ?? [1, "ns"];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  return `${(time / size).toFixed(Math.min(digits, 9))} ${unit}`;
}

/** How long something takes; what takes hours in whole minutes. */
export function lengthText(ns: number): string {
  return ns < HOUR ? format("time_ns", ns) : clock(ns);
}

/** Whole minutes as on a clock: 2 d 6 h. */
function clock(time: number): string {
  const minutes = Math.round(time / MINUTE);
  const parts: [number, string][] = [
    [Math.floor(minutes / (24 * 60)), "d"],
    [Math.floor(minutes / 60) % 24, "h"],
    [minutes % 60, "min"],
  ];
  return parts.flatMap(([many, unit]) => (many ? [`${many} ${unit}`] : [])).join(" ");
}
