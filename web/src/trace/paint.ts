// Draws a frame of the timeline from what is known; asks for nothing.

import type { Range } from "./api";
import { OVERLAY_COLOURS } from "./colours";
import { isCurve, type Layout, ROW, rowTop, type TrackItem, visibleItems } from "./layout";
import type { Names } from "./names";
import { type Curve, paintCurve } from "./paintCurves";
import { AT_BOTTOM, AT_TOP, type SlicePainter } from "./paintSlices";
import type { TrackSlices } from "./rows";
import type { Theme } from "./theme";
import type { Overlay, Place, Timeline } from "./types";
import { toX, type View } from "./view";
import type { Piece } from "./windows";

/** Where a slice is, as far as drawing around it needs to know. */
export type Spot = Pick<Place, "track" | "row" | "from_ns" | "dur_ns">;

export interface Frame {
  view: View;
  height: number;
  /** Pixels of the screen per pixel of the page. */
  ratio: number;
  /** Height of the layout that is at the top of the canvas. */
  top: number;
  layout: Layout;
  theme: Theme;
  names: Names;
  steps: Timeline["steps"];
  length: number;
  selected: Spot | null;
  hovered: Spot | null;
  /** Those of the critical path are in its colour. */
  arrows: readonly { from: Spot; to: Spot; strong: boolean; path?: boolean }[];
  overlays: readonly Overlay[];
  range: Range | null;
  slicesOf(track: number): Piece<TrackSlices>[];
  curvesOf(track: number): Piece<Curve>[];
  overlayOf(overlay: Overlay, track: number): Piece<TrackSlices>[];
}

type Context = CanvasRenderingContext2D;

/** Pixels between lines where steps begin; closer ones would hide what is beneath. */
const STEP_GAP = 12;

export function paint(context: Context, painter: SlicePainter, frame: Frame): void {
  const { view, height, top, layout, theme, names } = frame;
  context.fillStyle = theme.ground;
  context.fillRect(0, 0, view.width, height);
  paintBackground(context, frame);
  painter.begin(view.width, height, frame.ratio, theme.palette.fills);
  for (const item of visibleItems(layout, top, top + height)) {
    if (item.type === "group") continue;
    if (isCurve(item.track)) {
      paintCurve(context, item, frame.curvesOf(item.track.id), view, top, theme);
    } else {
      painter.track(item, frame.slicesOf(item.track.id), names, view, top, top + height);
    }
  }
  painter.draw(context, theme, names);
  const { slices } = painter;
  if (frame.overlays.includes("recording")) {
    paintOverlay(painter, frame, "recording", OVERLAY_COLOURS.recording);
    painter.draw(context, theme, names, AT_BOTTOM);
  }
  if (frame.overlays.includes("path")) paintPath(context, painter, frame);
  painter.slices = slices;
  paintHeaders(context, frame);
  paintRange(context, frame);
  paintArrows(context, frame);
  if (frame.hovered) outline(context, frame, frame.hovered, 1);
  if (frame.selected) outline(context, frame, frame.selected, 2);
}

/** What is on the critical path in its colours, the rest behind a veil. */
function paintPath(context: Context, painter: SlicePainter, frame: Frame): void {
  const { view, height, theme, names } = frame;
  context.fillStyle = theme.ground;
  context.globalAlpha = 0.72;
  context.fillRect(0, 0, view.width, height);
  context.globalAlpha = 1;
  paintOverlay(painter, frame, "path", null);
  painter.draw(context, theme, names);
  paintOverlay(painter, frame, "path", OVERLAY_COLOURS.path);
  painter.draw(context, theme, names, AT_TOP);
}

function paintOverlay(
  painter: SlicePainter,
  frame: Frame,
  overlay: Overlay,
  fixed: number | null,
): void {
  const { view, height, top, layout, theme, names } = frame;
  painter.begin(view.width, height, frame.ratio, theme.palette.fills);
  for (const item of visibleItems(layout, top, top + height)) {
    if (item.type === "group" || isCurve(item.track)) continue;
    const pieces = frame.overlayOf(overlay, item.track.id);
    painter.track(item, pieces, names, view, top, top + height, fixed);
  }
}

/** Beyond the recording, and where steps begin. */
function paintBackground(context: Context, frame: Frame): void {
  const { view, height, theme, length } = frame;
  const begin = toX(view, 0);
  const end = toX(view, length);
  context.fillStyle = theme.sunken;
  if (begin > 0) context.fillRect(0, 0, begin, height);
  if (end < view.width) context.fillRect(end, 0, view.width - end, height);
  context.fillStyle = theme.line;
  let last = -STEP_GAP;
  for (const step of frame.steps) {
    const x = Math.round(toX(view, step.from_ns));
    if (x < 0 || x > view.width || x - last < STEP_GAP) continue;
    context.fillRect(x, 0, 1, height);
    last = x;
  }
}

function paintHeaders(context: Context, { view, height, top, layout, theme }: Frame): void {
  for (const item of visibleItems(layout, top, top + height)) {
    if (item.type === "track") continue;
    context.fillStyle = theme.raised;
    context.fillRect(0, item.y - top, view.width, item.height);
    context.fillStyle = theme.line;
    context.fillRect(0, item.y - top, view.width, 1);
  }
}

function paintRange(context: Context, { view, height, range, theme }: Frame): void {
  if (!range) return;
  const from = toX(view, range[0]);
  const to = toX(view, range[1]);
  context.fillStyle = theme.accent;
  context.globalAlpha = 0.12;
  context.fillRect(from, 0, to - from, height);
  context.globalAlpha = 1;
  context.fillRect(Math.round(from), 0, 1, height);
  context.fillRect(Math.round(to) - 1, 0, 1, height);
}

/** Arrows from one slice to another: out at its right end, in at the other's left end. */
function paintArrows(context: Context, frame: Frame): void {
  const { view, theme, layout, top, height } = frame;
  // Many arrows together shall not hide what is beneath them.
  const faint = Math.min(0.35, Math.max(0.08, 20 / frame.arrows.length));
  for (const { from, to, strong, path } of frame.arrows) {
    context.strokeStyle = path ? theme.palette.fills[OVERLAY_COLOURS.path]! : theme.text;
    context.fillStyle = context.strokeStyle;
    const source = layout.byTrack.get(from.track);
    const target = layout.byTrack.get(to.track);
    if (!source || !target) continue;
    // Leaves within the slice, not after the arrival: launches end after short kernels begin.
    const leaves = Math.min(from.from_ns + from.dur_ns, Math.max(from.from_ns, to.from_ns));
    const x0 = toX(view, leaves);
    const x1 = toX(view, to.from_ns);
    const y0 = rowTop(source, from.row) - top + ROW / 2;
    const y1 = rowTop(target, to.row) - top + ROW / 2;
    if (Math.max(x0, x1) < 0 || Math.min(x0, x1) > view.width) continue;
    if (Math.max(y0, y1) < 0 || Math.min(y0, y1) > height) continue;
    context.globalAlpha = strong ? 0.9 : path ? Math.min(0.8, Math.max(2 * faint, 0.3)) : faint;
    context.lineWidth = strong ? 1.5 : 1;
    arrow(context, x0, y0, x1, y1);
  }
  context.globalAlpha = 1;
}

function arrow(context: Context, x0: number, y0: number, x1: number, y1: number): void {
  const bend = Math.min(Math.max(Math.abs(x1 - x0) / 2, 16), 120);
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 2, y1);
  context.stroke();
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - 6, y1 - 3.5);
  context.lineTo(x1 - 6, y1 + 3.5);
  context.fill();
}

function outline(context: Context, frame: Frame, spot: Spot, lineWidth: number): void {
  const item = frame.layout.byTrack.get(spot.track);
  if (!item || spot.row >= item.rows) return;
  const { x, y, width, height } = box(frame, item, spot);
  context.strokeStyle = frame.theme.text;
  context.lineWidth = lineWidth;
  context.strokeRect(x, y, width, height);
}

function box({ view, top }: Frame, item: TrackItem, spot: Spot) {
  const from = Math.max(Math.round(toX(view, spot.from_ns)), -8);
  const to = Math.min(Math.round(toX(view, spot.from_ns + spot.dur_ns)), view.width + 8);
  return {
    x: from,
    y: rowTop(item, spot.row) - top + 1,
    width: Math.max(to - from, 2),
    height: ROW - 2,
  };
}
