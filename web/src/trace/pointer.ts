// Mouse, pen and fingers on the canvases.

import type { Range } from "./api";
import type { Canvases, Engine } from "./engine";
import type { DrawnSlice, Hit } from "./hit";
import { clamp, nsPerPixel, panBy, toTime, zoomAt } from "./view";

export interface PointerEvents {
  onHover(hit: Hit | null, x: number, y: number): void;
  onPick(slice: DrawnSlice | null): void;
  onDouble(slice: DrawnSlice): void;
  /** A range while it is drawn (`done` false) and when it is; null for a mere click. */
  onRange(range: Range | null, done: boolean): void;
  scrollBy(pixels: number): void;
}

/** Pixels a hand may tremble in a click. */
const CLICK_TOLERANCE = 4;

/** Listens on the canvases; returns how to stop. */
export function listen(canvases: Canvases, engine: Engine, events: PointerEvents): () => void {
  const stop = new AbortController();
  const options = { signal: stop.signal };
  onMain(canvases.main, engine, events, options);
  onRuler(canvases.ruler, engine, events, options);
  onOverview(canvases.overview, engine, options);
  for (const canvas of [canvases.main, canvases.ruler]) {
    canvas.addEventListener("wheel", (event) => wheel(event, engine, events), {
      ...options,
      passive: false,
    });
  }
  return () => stop.abort();
}

type Options = { signal: AbortSignal };

function wheel(event: WheelEvent, engine: Engine, events: PointerEvents): void {
  event.preventDefault();
  const length = engine.timeline.length_ns;
  const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
  const [dx, dy] = [event.deltaX * lines, event.deltaY * lines];
  if (event.ctrlKey || event.metaKey) {
    engine.show(zoomAt(engine.view, event.offsetX, Math.exp(-dy / 250), length));
  } else if (event.shiftKey) {
    engine.show(panBy(engine.view, dx || dy, length));
  } else {
    if (dx) engine.show(panBy(engine.view, dx, length));
    if (dy) events.scrollBy(dy);
  }
}

interface Finger {
  x: number;
  y: number;
}

function onMain(
  canvas: HTMLCanvasElement,
  engine: Engine,
  events: PointerEvents,
  options: Options,
): void {
  const fingers = new Map<number, Finger>();
  const length = engine.timeline.length_ns;
  let begin: (Finger & { time: number; range: boolean; moved: boolean }) | null = null;

  canvas.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0) return;
      canvas.focus({ preventScroll: true });
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
      const time = toTime(engine.view, event.offsetX);
      const { offsetX: x, offsetY: y, shiftKey: range } = event;
      begin = fingers.size === 1 ? { x, y, time, range, moved: false } : null;
    },
    options,
  );
  canvas.addEventListener(
    "pointermove",
    (event) => {
      const finger = fingers.get(event.pointerId);
      const { offsetX: x, offsetY: y } = event;
      if (!finger) {
        events.onHover(engine.hit(x, y), x, y);
        return;
      }
      if (fingers.size === 2) pinch(fingers, event, engine, events);
      else if (begin) {
        begin.moved ||= Math.hypot(x - begin.x, y - begin.y) > CLICK_TOLERANCE;
        if (begin.moved && begin.range) {
          events.onRange(orderedRange(begin.time, toTime(engine.view, x), length), false);
        } else if (begin.moved) {
          engine.show(panBy(engine.view, finger.x - x, length));
          events.scrollBy(finger.y - y);
          events.onHover(null, x, y);
          canvas.classList.add("dragged");
        }
      }
      if (begin?.moved || fingers.size > 1) fingers.set(event.pointerId, { x, y });
    },
    options,
  );
  const release = (event: PointerEvent) => {
    if (!fingers.delete(event.pointerId)) return;
    canvas.classList.remove("dragged");
    if (begin && event.type === "pointerup") {
      const { offsetX: x, offsetY: y } = event;
      if (begin.moved && begin.range) {
        events.onRange(orderedRange(begin.time, toTime(engine.view, x), length), true);
      } else if (!begin.moved) {
        events.onPick(engine.hit(x, y)?.slice ?? null);
      }
    }
    begin = null;
  };
  canvas.addEventListener("pointerup", release, options);
  canvas.addEventListener("pointercancel", release, options);
  canvas.addEventListener(
    "pointerleave",
    (event) => events.onHover(null, event.offsetX, 0),
    options,
  );
  canvas.addEventListener(
    "dblclick",
    (event) => {
      const slice = engine.hit(event.offsetX, event.offsetY)?.slice;
      if (slice) events.onDouble(slice);
    },
    options,
  );
}

/** Two fingers: what is between them follows them. */
function pinch(
  fingers: Map<number, Finger>,
  event: PointerEvent,
  engine: Engine,
  events: PointerEvents,
): void {
  const [first, second] = [...fingers.values()] as [Finger, Finger];
  const before = {
    middle: (first.x + second.x) / 2,
    apart: Math.abs(first.x - second.x),
    y: (first.y + second.y) / 2,
  };
  const moved = fingers.get(event.pointerId)!;
  const other = moved === first ? second : first;
  const middle = (event.offsetX + other.x) / 2;
  const apart = Math.abs(event.offsetX - other.x);
  const length = engine.timeline.length_ns;
  const panned = panBy(engine.view, before.middle - middle, length);
  const factor = Math.max(apart, 12) / Math.max(before.apart, 12);
  engine.show(zoomAt(panned, middle, factor, length));
  events.scrollBy(before.y - (event.offsetY + other.y) / 2);
}

function onRuler(
  canvas: HTMLCanvasElement,
  engine: Engine,
  events: PointerEvents,
  options: Options,
): void {
  const length = engine.timeline.length_ns;
  onDrag(
    canvas,
    options,
    (begin, event, done) => {
      const time = toTime(engine.view, event.offsetX);
      const moved = Math.abs(event.offsetX - begin.x) > CLICK_TOLERANCE;
      if (moved || !done) events.onRange(orderedRange(begin.time, time, length), done);
      else events.onRange(null, true);
    },
    (x) => toTime(engine.view, x),
  );
}

/** Within the box it is moved; beside it, what is there comes into view. */
function onOverview(canvas: HTMLCanvasElement, engine: Engine, options: Options): void {
  const length = engine.timeline.length_ns;
  let grip = 0;
  onDrag(
    canvas,
    options,
    (_, event) => {
      const { view } = engine;
      const from = toTime(engine.fullView, event.offsetX) - grip;
      engine.show(clamp({ ...view, from, to: from + view.to - view.from }, length));
    },
    (x) => {
      const { view, fullView } = engine;
      const time = toTime(fullView, x);
      const slack = 4 * nsPerPixel(fullView);
      const inside = time >= view.from - slack && time <= view.to + slack;
      grip = inside ? time - view.from : (view.to - view.from) / 2;
      return time;
    },
  );
}

/** Follows one pointer from press to release. */
function onDrag(
  canvas: HTMLCanvasElement,
  options: Options,
  move: (begin: { x: number; time: number }, event: PointerEvent, done: boolean) => void,
  start: (x: number) => number,
): void {
  let begin: { x: number; time: number } | null = null;
  canvas.addEventListener(
    "pointerdown",
    (event) => {
      canvas.setPointerCapture(event.pointerId);
      begin = { x: event.offsetX, time: start(event.offsetX) };
      move(begin, event, false);
    },
    options,
  );
  canvas.addEventListener("pointermove", (event) => begin && move(begin, event, false), options);
  canvas.addEventListener(
    "pointerup",
    (event) => {
      if (begin) move(begin, event, true);
      begin = null;
    },
    options,
  );
  canvas.addEventListener(
    "pointercancel",
    () => {
      begin = null;
    },
    options,
  );
}

function orderedRange(start: number, end: number, length: number): Range {
  const clampTime = (time: number) => Math.min(Math.max(time, 0), length);
  return [clampTime(Math.min(start, end)), clampTime(Math.max(start, end))];
}
