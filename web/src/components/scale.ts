// Scales of changes: to both sides of zero.

/** Where a value stands, in percent of the width, at most 0 to 100. */
export type Scale = (value: number) => number;

/** A scale that shows all values and zero, with a little room at both ends. */
export function scaleAround(values: number[]): Scale {
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  const room = (high - low || 1) * 0.04;
  const [from, to] = [low - room, high + room];
  return (value) => Math.min(Math.max((100 * (value - from)) / (to - from), 0), 100);
}

export interface Changed {
  change: number;
  low: number | null;
  high: number | null;
}

/** How far beyond the largest change an interval may stretch the scale. */
const MAX_STRETCH = 1.35;

/** One scale for bars and their intervals; an interval much wider than any bar is cut off. */
export function scaleOfChanges(rows: Changed[]): Scale {
  const reach = MAX_STRETCH * Math.max(...rows.map(({ change }) => Math.abs(change)), 0);
  const ends = rows.flatMap(({ change, low, high }) => [
    change,
    Math.max(low ?? change, -reach),
    Math.min(high ?? change, reach),
  ]);
  return scaleAround(ends);
}

/** Place and width of what reaches from one value to another. */
export function spanOn(scale: Scale, from: number, to: number): { left: string; width: string } {
  const [left, right] = [scale(Math.min(from, to)), scale(Math.max(from, to))];
  return { left: `${left}%`, width: `${right - left}%` };
}

/** An interval in tenths of a percent that leaves out nothing of it, as the sentences have it. */
export function roundOutward(low: number, high: number): [low: number, high: number] {
  // Not moved by what a computer adds to the last of its digits.
  return [Math.floor(low * 1000 + 1e-6) / 1000, Math.ceil(high * 1000 - 1e-6) / 1000];
}

export interface Label {
  /** In percent of the width. */
  at: number;
  text: string;
}

/** How wide a letter of a label may be, in percent of the narrowest axis there is. */
const LETTER = 3.4;

/** Labels of zero and of both ends without overlap: near ones are pushed apart, and a near zero goes. */
export function spreadLabels([zero, low, high]: [Label, Label, Label]): Label[] {
  const half = ({ text }: Label) => (text.length * LETTER) / 2;
  const missing = Math.max(half(low) + half(high) - (high.at - low.at), 0);
  const ends = [
    { ...low, at: low.at - missing / 2 },
    { ...high, at: high.at + missing / 2 },
  ];
  const free = ends.every((end) => Math.abs(end.at - zero.at) >= half(zero) + half(end));
  return free ? [zero, ...ends] : ends;
}
