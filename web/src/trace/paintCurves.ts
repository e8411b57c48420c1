// Draws counters: the mean as an area, lowest to highest as a band, in steps as they were sampled.

import { CURVE, type TrackItem } from "./layout";
import { valueText } from "./Names";
import type { Theme } from "./theme";
import type { CounterPoints, Track } from "./types";
import { nsPerPixel, type View } from "./view";
import type { Piece } from "./windows";

export type Curve = CounterPoints["tracks"][number];

const CURVE_MARGIN = 4;

export function paintCurve(
  context: CanvasRenderingContext2D,
  item: TrackItem,
  pieces: readonly Piece<Curve>[],
  view: View,
  top: number,
  theme: Theme,
): void {
  const [base, highest] = axisOf(item.track);
  const height = item.height - 2 * CURVE_MARGIN;
  const bottom = item.y - top + CURVE_MARGIN + height;
  const scale = height / (highest - base || 1);
  const yOf = (value: number) => bottom - (value - base) * scale;
  context.fillStyle = theme.line;
  context.fillRect(0, Math.round(bottom), view.width, 1);
  for (const piece of pieces) {
    const steps = stepsOf(piece, view);
    if (!steps.length) continue;
    context.fillStyle = theme.curve;
    context.globalAlpha = 0.28;
    fillBetween(
      context,
      steps,
      () => bottom,
      (step) => yOf(step.mean),
    );
    fillBetween(
      context,
      steps,
      (step) => yOf(step.low),
      (step) => yOf(step.high),
    );
    context.globalAlpha = 1;
    context.strokeStyle = theme.curve;
    context.lineWidth = 1.25;
    context.beginPath();
    for (const step of steps) {
      context.lineTo(step.x, yOf(step.mean));
      context.lineTo(step.until, yOf(step.mean));
    }
    context.stroke();
  }
  if (item.height < CURVE) return;
  context.font = `10px ${theme.font}`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const [value, y] of [
    [highest, bottom - height + 5],
    [base, bottom - 6],
  ] as const) {
    const text = valueText(value, item.track.unit);
    context.fillStyle = theme.ground;
    context.globalAlpha = 0.75;
    context.fillRect(2, y - 6, context.measureText(text).width + 4, 12);
    context.globalAlpha = 1;
    context.fillStyle = theme.quiet;
    context.fillText(text, 4, y);
  }
}

/** What the lower and the upper edge of a curve stand for. */
export function axisOf({ lowest, highest }: Track): [number, number] {
  return [Math.min(0, lowest), highest];
}

interface Step {
  x: number;
  until: number;
  low: number;
  mean: number;
  high: number;
}

/** Points of a piece as stretches of pixels; the last one lasts until the piece ends. */
function stepsOf({ from, to, chunk }: Piece<Curve>, view: View): Step[] {
  const { x, low, mean, high } = chunk.data;
  const scale = 1 / nsPerPixel(view);
  const left = (from - view.from) * scale;
  const right = (to - view.from) * scale;
  const steps: Step[] = [];
  for (let i = Math.max(0, pointAt(x, from)); i < x.length; i++) {
    const begin = (x[i]! - view.from) * scale;
    if (begin >= right) break;
    const next = i + 1 < x.length ? (x[i + 1]! - view.from) * scale : right;
    if (next < left) continue;
    steps.push({
      x: Math.max(begin, left),
      until: Math.min(next, right),
      low: low[i]!,
      mean: mean[i]!,
      high: high[i]!,
    });
  }
  return steps;
}

function fillBetween(
  context: CanvasRenderingContext2D,
  steps: readonly Step[],
  lower: (step: Step) => number,
  upper: (step: Step) => number,
): void {
  context.beginPath();
  for (const step of steps) {
    context.lineTo(step.x, upper(step));
    context.lineTo(step.until, upper(step));
  }
  for (let i = steps.length - 1; i >= 0; i--) {
    context.lineTo(steps[i]!.until, lower(steps[i]!));
    context.lineTo(steps[i]!.x, lower(steps[i]!));
  }
  context.fill();
}

/** The values at a time, or null before the first. */
export function valueAt(pieces: readonly Piece<Curve>[], time: number): Step | null {
  for (const { from, to, chunk } of pieces) {
    if (time < from || time > to) continue;
    const { x, low, mean, high } = chunk.data;
    const i = pointAt(x, time);
    if (i >= 0) return { x: 0, until: 0, low: low[i]!, mean: mean[i]!, high: high[i]! };
  }
  return null;
}

/** Index of the last point at or before a time; -1 where there is none. */
export function pointAt(x: readonly number[], time: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
