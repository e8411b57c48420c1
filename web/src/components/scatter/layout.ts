// Where points, roofs, marks of the axes and names of a picture on logarithmic axes are.

import type { Point, Scatter } from "../../document/types";

export interface Axis {
  low: number;
  high: number;
  /** Pixels of a value; what is beyond the axis is at its end. */
  at(value: number): number;
  /** Powers of ten. */
  ticks: number[];
}

export interface Plot {
  width: number;
  height: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
  x: Axis;
  y: Axis;
}

const LEFT = 46;
const RIGHT = 10;
const TOP = 20;
const BOTTOM = 40;
/** Powers of ten an axis covers. */
const MIN_DECADES = 2;
const MAX_DECADES = 6;
const TICK_ROOM = 34;
const MAIN_SHARE = 0.995;
const SMALLEST = 3.5;
const LARGEST = 20;
const LETTER = 6.1;
const LINE = 13;
const MAX_NAMES = 8;
const MAX_LETTERS = 28;

/** The axes in a width: room for all points and for the corners of the roofs. */
export function layoutScatter(block: Scatter, width: number): Plot {
  const height = Math.round(Math.min(Math.max(width * 0.5, 300), 460));
  const slope = steepest(block);
  const flat = block.roofs.filter(({ slopes }) => !slopes).map(({ value }) => value);
  const corners = slope ? flat.map((value) => value / slope) : [];
  const [left, right, top, bottom] = [LEFT, width - RIGHT, TOP, height - BOTTOM];
  const mainPoints = withoutTinyPoints(block.points);
  const xs = [...mainPoints.map(({ x }) => x), ...corners];
  const ys = [...mainPoints.map(({ y }) => y), ...flat];
  return {
    ...{ width, height, left, right, top, bottom },
    x: axis(xs, left, right, 2.5),
    y: axis(ys, bottom, top, 2),
  };
}

/** Those that make up nearly all of the size: tiny ones far away would take all the room. */
function withoutTinyPoints(points: Point[]): Point[] {
  const total = points.reduce((sum, { size }) => sum + size, 0);
  let before = 0;
  return points.filter(({ size }) => {
    const counts = before <= MAIN_SHARE * total;
    before += size;
    return counts;
  });
}

/** Whether a point is beyond an axis, at whose end it is drawn. */
export function isBeyond({ x, y }: Plot, point: Point): boolean {
  return point.x < x.low || point.x > x.high || point.y < y.low || point.y > y.high;
}

function axis(values: number[], from: number, to: number, margin: number): Axis {
  const positive = values.filter((value) => value > 0);
  let low = (positive.length ? Math.min(...positive) : 1) / margin;
  let high = (positive.length ? Math.max(...positive) : 1) * margin;
  const widen = Math.max(1, Math.sqrt(10 ** MIN_DECADES / (high / low)));
  [low, high] = [low / widen, high * widen];
  low = Math.max(low, high / 10 ** MAX_DECADES);
  const decades = Math.log10(high / low);
  const at = (value: number) => {
    const part = Math.log10(Math.min(Math.max(value, low), high) / low) / decades;
    return from + part * (to - from);
  };
  const every = Math.ceil((TICK_ROOM * decades) / Math.abs(to - from));
  const ticks = [];
  for (let power = Math.ceil(Math.log10(low)); power <= Math.log10(high); power++)
    if (power % every === 0) ticks.push(10 ** power);
  return { low, high, at, ticks };
}

/** The bandwidth of the steepest slope; 0 where there is none. */
function steepest({ roofs }: Scatter): number {
  return Math.max(0, ...roofs.filter(({ slopes }) => slopes).map(({ value }) => value));
}

export interface RoofLine {
  name: string;
  from: [x: number, y: number];
  to: [x: number, y: number];
  /** Where the name stands, and how it is turned, in degrees. */
  label: { x: number; y: number; angle: number };
}

/** Slopes up to the highest roof; flat roofs from where the steepest slope meets them. */
export function roofLines(block: Scatter, { x, y, left, right }: Plot): RoofLine[] {
  const slope = steepest(block);
  const flat = block.roofs.filter(({ slopes }) => !slopes).sort((a, b) => b.value - a.value);
  const highest = flat[0]?.value ?? y.high;
  const lines: RoofLine[] = [];
  for (const { name, value } of block.roofs.filter(({ slopes }) => slopes)) {
    const start = Math.max(x.low, y.low / value);
    const end = Math.min(x.high, highest / value);
    if (start >= end) continue;
    const from: [number, number] = [x.at(start), y.at(start * value)];
    const to: [number, number] = [x.at(end), y.at(end * value)];
    const angle = (Math.atan2(to[1] - from[1], to[0] - from[0]) * 180) / Math.PI;
    const label = { x: (from[0] + to[0]) / 2, y: (from[1] + to[1]) / 2, angle };
    lines.push({ name, from, to, label });
  }
  let free = -Infinity;
  for (const { name, value } of flat) {
    const from: [number, number] = [x.at(slope ? value / slope : x.low), y.at(value)];
    const to: [number, number] = [right, y.at(value)];
    // Above the line, or below it where the name of the one above stands there.
    const above = to[1] - 4;
    const place = above - LINE >= free ? above : Math.max(to[1] + LINE, free + LINE);
    free = place;
    lines.push({ name, from, to, label: { x: Math.max(right - 4, left), y: place, angle: 0 } });
  }
  return lines;
}

/** Areas are sizes: the radius of each point. */
export function radii(points: Point[], width: number): number[] {
  const max = Math.max(0, ...points.map(({ size }) => size)) || 1;
  const maxRadius = width < 500 ? 0.7 * LARGEST : LARGEST;
  return points.map(({ size }) => Math.max(SMALLEST, maxRadius * Math.sqrt(size / max)));
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export interface Name {
  text: string;
  x: number;
  y: number;
}

/** Names of the largest points, each once, where there is room for them beside their points. */
export function placeNames(block: Scatter, plot: Plot, lines: RoofLine[]): Name[] {
  const sizes = radii(block.points, plot.width);
  const circles = block.points.map(({ x, y }, at): Box => {
    const r = sizes[at] ?? SMALLEST;
    return around(plot.x.at(x), plot.y.at(y), r, r);
  });
  const taken = lines.flatMap(({ name, from, to, label }) => [
    ...boxesAlong(from, to),
    ...(label.angle ? [] : [boxOf(name, label.x - LETTER * name.length, label.y)]),
  ]);
  const names = new Set<string>();
  const placed: Name[] = [];
  for (const [at, point] of block.points.entries()) {
    if (placed.length >= MAX_NAMES || at >= 3 * MAX_NAMES) break;
    const text = shortName(point.name);
    const circle = circles[at];
    if (names.has(text) || !circle) continue;
    const position = candidates(text, circle).find(({ x, y }) => {
      const box = boxOf(text, x, y);
      const inside =
        box.left >= plot.left &&
        box.right <= plot.right &&
        box.top >= plot.top &&
        box.bottom <= plot.bottom;
      return inside && ![...taken, ...circles.filter((_, other) => other !== at)].some(over(box));
    });
    if (!position) continue;
    names.add(text);
    taken.push(boxOf(text, position.x, position.y));
    placed.push({ text, ...position });
  }
  return placed;
}

function candidates(text: string, { left, right, top, bottom }: Box): { x: number; y: number }[] {
  const width = LETTER * text.length;
  const [middle, centre] = [(left + right) / 2 - width / 2, (top + bottom) / 2 + 4];
  return [
    { x: right + 4, y: centre },
    { x: left - 4 - width, y: centre },
    { x: middle, y: top - 4 },
    { x: middle, y: bottom + LINE },
    { x: right, y: top },
    { x: right, y: bottom + 8 },
  ];
}

function around(x: number, y: number, across: number, up: number): Box {
  return { left: x - across, right: x + across, top: y - up, bottom: y + up };
}

/** A line as a row of small boxes. */
function boxesAlong([x1, y1]: [number, number], [x2, y2]: [number, number]): Box[] {
  const count = Math.ceil(Math.hypot(x2 - x1, y2 - y1) / 6);
  const along = (part: number) => around(x1 + part * (x2 - x1), y1 + part * (y2 - y1), 2, 2);
  return Array.from({ length: count }, (_, at) => along(at / count));
}

/** Of text whose line starts at a point. */
function boxOf(text: string, x: number, y: number): Box {
  return { left: x, right: x + LETTER * text.length, top: y - LINE + 3, bottom: y + 3 };
}

function over(box: Box): (other: Box) => boolean {
  return (other) =>
    box.left < other.right &&
    other.left < box.right &&
    box.top < other.bottom &&
    other.top < box.bottom;
}

function shortName(name: string): string {
  const last = name.split("::").at(-1) ?? name;
  return last.length <= MAX_LETTERS ? last : `${last.slice(0, MAX_LETTERS - 1)}…`;
}

const STEPS: Record<string, ["x" | "y", number]> = {
  ArrowRight: ["x", 1],
  ArrowLeft: ["x", -1],
  ArrowUp: ["y", 1],
  ArrowDown: ["y", -1],
};

/** The point a key leads to, the largest first; null for keys that lead nowhere. */
export function pointAfter({ points }: Scatter, current: number, key: string): number | null {
  const step = STEPS[key];
  if (key === "Home" || (step && current < 0)) return points.length ? 0 : null;
  if (!step) return null;
  const [by, way] = step;
  const order = points.map((_, at) => at);
  order.sort((a, b) => (points[a]?.[by] ?? 0) - (points[b]?.[by] ?? 0));
  return order[order.indexOf(current) + way] ?? current;
}

const PREFIXES: [size: number, prefix: string][] = [
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** A power of ten as axes have it: `10 T`, `0.01`. */
export function tickLabel(value: number): string {
  const [size, prefix] = PREFIXES.find(([min]) => value >= min * 0.999) ?? [1, ""];
  const digits = Number((value / size).toPrecision(1));
  return prefix ? `${digits} ${prefix}` : String(digits);
}
