// Which part of time is in sight: time <-> pixels, moving, zooming.

export interface View {
  /** Nanoseconds at the left and right edge. */
  from: number;
  to: number;
  /** Pixels between them. */
  width: number;
}

/** Below this nothing more can be seen: clocks count nanoseconds. */
export const SHORTEST_NS = 100;

/** What one may see beyond the ends of a recording, as a share of what is in view. */
const MARGIN = 0.02;

export function toX(view: View, time: number): number {
  return ((time - view.from) / (view.to - view.from)) * view.width;
}

export function toTime(view: View, x: number): number {
  return view.from + (x / view.width) * (view.to - view.from);
}

export function nsPerPixel(view: View): number {
  return (view.to - view.from) / view.width;
}

/** Everything, with a little air. */
export function fitAll(length: number, width: number): View {
  return clamp({ from: 0, to: Math.max(length, SHORTEST_NS), width }, length);
}

/** Keeps the view on the recording, and its span when it is pushed against an end. */
export function clamp(view: View, length: number): View {
  const fullSpan = Math.max(length, SHORTEST_NS);
  const longest = fullSpan * (1 + 2 * MARGIN);
  const span = Math.min(Math.max(view.to - view.from, SHORTEST_NS), longest);
  const middle = (view.from + view.to) / 2;
  const margin = Math.min(span, fullSpan) * MARGIN;
  const lowest = -margin;
  const highest = Math.max(fullSpan + margin - span, lowest);
  const from = Math.min(Math.max(middle - span / 2, lowest), highest);
  return { from, to: from + span, width: view.width };
}

/** Zooms so that the time beneath `x` stays there; `factor` above 1 shows more detail. */
export function zoomAt(view: View, x: number, factor: number, length: number): View {
  const time = toTime(view, x);
  const fullSpan = Math.max(length, SHORTEST_NS) * (1 + 2 * MARGIN);
  const span = Math.min(Math.max((view.to - view.from) / factor, SHORTEST_NS), fullSpan);
  const from = time - (x / view.width) * span;
  return clamp({ from, to: from + span, width: view.width }, length);
}

export function panBy(view: View, pixels: number, length: number): View {
  const by = pixels * nsPerPixel(view);
  return clamp({ from: view.from + by, to: view.to + by, width: view.width }, length);
}

/** A stretch of time in the middle, on `share` of the width. */
export function focusOn(view: View, from: number, to: number, length: number, share = 0.6): View {
  const span = Math.max((to - from) / share, SHORTEST_NS);
  const middle = (from + to) / 2;
  return clamp({ from: middle - span / 2, to: middle + span / 2, width: view.width }, length);
}

/** The view moved, and zoomed only where the stretch would be too small to see. */
export function reveal(view: View, from: number, to: number, length: number): View {
  const pixels = (to - from) / nsPerPixel(view);
  if (pixels < 2) return focusOn(view, from, to, length, 0.05);
  if (from >= view.from && to <= view.to) return view;
  if (pixels > view.width) return focusOn(view, from, to, length, 0.9);
  const middle = (from + to) / 2;
  const half = (view.to - view.from) / 2;
  return clamp({ from: middle - half, to: middle + half, width: view.width }, length);
}

/** A step of a movement that ends at `goal`: zooms evenly, not fast at first. */
export function between(view: View, goal: View, share: number): View {
  const span = view.to - view.from;
  const goalSpan = goal.to - goal.from;
  if (share >= 1) return goal;
  const next = span * (goalSpan / span) ** share;
  // The share of the way that this span stands for, so that both edges arrive together.
  const done = Math.abs(goalSpan - span) > 1e-9 * span ? (next - span) / (goalSpan - span) : share;
  const from = view.from + (goal.from - view.from) * done;
  return { from, to: from + next, width: goal.width };
}

/** How a view is written in the address; nothing for everything. */
export function addressOf(
  view: View,
  length: number,
): { from: number | undefined; to: number | undefined } {
  const all = fitAll(length, view.width);
  const pixel = (all.to - all.from) / all.width;
  if (Math.abs(view.from - all.from) < pixel && Math.abs(view.to - all.to) < pixel) {
    return { from: undefined, to: undefined };
  }
  return { from: Math.max(0, Math.round(view.from)), to: Math.round(view.to) };
}
