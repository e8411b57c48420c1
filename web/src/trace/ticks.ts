// Marks of the time ruler and words for times on it.

export interface Tick {
  time: number;
  label: string;
}

const UNITS: [size: number, unit: string][] = [
  [1e9, "s"],
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

/** 1, 2 or 5 times a power of ten, at least `least` and at least a nanosecond. */
export function niceStep(least: number): number {
  if (least <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  for (const times of [1, 2, 5]) {
    // Rounding of logarithms must not make 10 of 1.
    if (times * power >= least * (1 - 1e-9)) return times * power;
  }
  return 10 * power;
}

/** A time on the ruler, with the digits that the step between marks needs. */
export function tickLabel(time: number, step: number): string {
  if (time === 0) return "0";
  const [size, unit] = UNITS.find(([limit]) => Math.abs(time) >= limit) ?? [1, "ns"];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  return `${(time / size).toFixed(Math.min(digits, 9))} ${unit}`;
}
