// Draws the time ruler and the overview of the whole recording above it.

import type { Range } from "./api";
import { firstEndingAfter, rowCount, type TrackSlices } from "./rows";
import type { Theme } from "./theme";
import { ticks } from "./ticks";
import type { Timeline } from "./types";
import { toX, type View } from "./view";
import type { Piece } from "./windows";

type Context = CanvasRenderingContext2D;

export const RULER = 40;
export const OVERVIEW = 44;
const STEPS = 18;

/** Steps by name in the upper half, round times below. */
export function paintRuler(
  context: Context,
  view: View,
  steps: Timeline["steps"],
  range: Range | null,
  cursor: number | null,
  theme: Theme,
): void {
  context.fillStyle = theme.raised;
  context.fillRect(0, 0, view.width, RULER);
  if (range) {
    context.fillStyle = theme.accent;
    context.globalAlpha = 0.25;
    context.fillRect(toX(view, range[0]), 0, toX(view, range[1]) - toX(view, range[0]), RULER);
    context.globalAlpha = 1;
  }
  context.font = `11px ${theme.font}`;
  context.textBaseline = "middle";
  paintSteps(context, view, steps, theme);
  const { step, marks } = ticks(view.from, view.to, view.width);
  context.fillStyle = theme.quiet;
  const small = step / 5;
  for (let i = Math.ceil(Math.max(0, view.from) / small); i * small <= view.to; i++) {
    context.fillRect(Math.round(toX(view, i * small)), RULER - 4, 1, 4);
  }
  for (const { time, label } of marks) {
    const x = Math.round(toX(view, time));
    context.fillStyle = theme.quiet;
    context.fillRect(x, RULER - 10, 1, 10);
    context.fillStyle = theme.text;
    context.fillText(label, x + 4, RULER - 10);
  }
  if (cursor !== null) {
    context.fillStyle = theme.accent;
    context.fillRect(Math.round(cursor), 0, 1, RULER);
  }
  context.fillStyle = theme.line;
  context.fillRect(0, RULER - 1, view.width, 1);
}

function paintSteps(context: Context, view: View, steps: Timeline["steps"], theme: Theme): void {
  for (const [i, { name, from_ns, to_ns }] of steps.entries()) {
    const from = Math.max(0, toX(view, from_ns));
    const to = Math.min(view.width, toX(view, to_ns));
    if (to <= 0 || from >= view.width) continue;
    context.fillStyle = i % 2 ? theme.sunken : theme.line;
    context.fillRect(from, 1, Math.max(1, to - from - 1), STEPS - 2);
    const label = /^\d+$/.test(name) ? `step ${name}` : name;
    context.fillStyle = theme.text;
    if (context.measureText(label).width + 8 < to - from) {
      context.fillText(label, from + 4, STEPS / 2 + 1);
    }
  }
}

/** How busy each of a few tracks is along the recording, and which part is in view. */
export function paintOverview(
  context: Context,
  fullView: View,
  view: View,
  bands: readonly { colour: string; pieces: readonly Piece<TrackSlices>[] }[],
  range: Range | null,
  theme: Theme,
): void {
  context.fillStyle = theme.ground;
  context.fillRect(0, 0, fullView.width, OVERVIEW);
  const height = Math.floor((OVERVIEW - 6) / Math.max(1, bands.length));
  for (const [i, band] of bands.entries()) {
    const busy = busyShares(band.pieces, fullView);
    context.fillStyle = band.colour;
    for (let x = 0; x < busy.length; x++) {
      if (!busy[x]) continue;
      const tall = Math.max(1, (height - 1) * Math.min(1, busy[x]!));
      context.fillRect(x, 3 + (i + 1) * height - tall, 1, tall);
    }
  }
  if (range) {
    context.fillStyle = theme.accent;
    context.globalAlpha = 0.3;
    const from = toX(fullView, range[0]);
    context.fillRect(from, 0, Math.max(1, toX(fullView, range[1]) - from), OVERVIEW);
  }
  const from = toX(fullView, view.from);
  const to = Math.max(toX(fullView, view.to), from + 3);
  context.fillStyle = theme.sunken;
  context.globalAlpha = 0.7;
  context.fillRect(0, 0, from, OVERVIEW);
  context.fillRect(to, 0, fullView.width - to, OVERVIEW);
  context.globalAlpha = 1;
  context.strokeStyle = theme.accent;
  context.lineWidth = 2;
  context.strokeRect(
    Math.max(1, from),
    1,
    Math.min(to, fullView.width - 1) - Math.max(1, from),
    OVERVIEW - 2,
  );
}

/** Part of each pixel that the outermost row is busy. */
export function busyShares(pieces: readonly Piece<TrackSlices>[], fullView: View): Float32Array {
  const shares = new Float32Array(Math.ceil(fullView.width));
  for (const { from, to, chunk } of pieces) {
    if (rowCount(chunk.data) < 1) continue;
    const { start, dur, busy } = chunk.data.slices;
    const end = chunk.data.begin[1]!;
    for (let i = firstEndingAfter(chunk.data, 0, from); i < end && start[i]! < to; i++) {
      const density = dur[i]! > 0 ? busy[i]! / dur[i]! : 0;
      const first = toX(fullView, start[i]!);
      spread(shares, first, Math.max(toX(fullView, start[i]! + dur[i]!), first), density);
    }
  }
  return shares;
}

function spread(shares: Float32Array, from: number, to: number, density: number): void {
  for (let x = Math.max(0, Math.floor(from)); x < Math.min(shares.length, to); x++) {
    shares[x]! += density * (Math.min(to, x + 1) - Math.max(from, x));
  }
}
