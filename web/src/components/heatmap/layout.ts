// Where the cells of a heat map are, and which of its names there is room for.

import type { Heatmap } from "../../document/types";

export interface HeatLayout {
  /** Where cells begin: names are left of and above it. */
  left: number;
  top: number;
  cellWidth: number;
  cellHeight: number;
  width: number;
  height: number;
}

/** Row and column of a cell; -1 for none. */
export interface Cell {
  row: number;
  column: number;
}

export const NO_CELL: Cell = { row: -1, column: -1 };

const TOP = 18;
const NARROWEST = 36;
const WIDEST_CELL = 96;
/** Heights of rows, by how many there are: few are easy to hit, many still fit a screen. */
const HEIGHTS: [most: number, height: number][] = [
  [24, 20],
  [48, 14],
  [96, 9],
];
const MIN_HEIGHT = 6;

/** Places of all cells in a width, with room for names of rows of a width. */
export function layoutHeat(block: Heatmap, width: number, names: number): HeatLayout {
  const left = Math.min(Math.max(names + 10, NARROWEST), width / 3);
  const height = HEIGHTS.find(([max]) => block.rows.length <= max)?.[1] ?? MIN_HEIGHT;
  const cellWidth = Math.min((width - left) / Math.max(block.columns.length, 1), WIDEST_CELL);
  return {
    left,
    top: TOP,
    cellWidth,
    cellHeight: height,
    width,
    height: TOP + height * block.rows.length + 1,
  };
}

/** The cell at a point; `NO_CELL` beside the map. */
export function cellAt(block: Heatmap, layout: HeatLayout, x: number, y: number): Cell {
  const column = Math.floor((x - layout.left) / layout.cellWidth);
  const row = Math.floor((y - layout.top) / layout.cellHeight);
  const inside =
    column >= 0 && row >= 0 && column < block.columns.length && row < block.rows.length;
  return inside ? { row, column } : NO_CELL;
}

const MOVES: Record<string, [rows: number, columns: number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-10, 0],
  PageDown: [10, 0],
};

/** The cell a key leads to; null for keys that lead nowhere. */
export function cellAfter(block: Heatmap, cell: Cell, key: string): Cell | null {
  const max = { row: block.rows.length - 1, column: block.columns.length - 1 };
  if (key === "Home") return { ...cell, column: 0, row: Math.max(cell.row, 0) };
  if (key === "End") return { ...cell, column: max.column, row: Math.max(cell.row, 0) };
  const move = MOVES[key];
  if (!move) return null;
  if (cell.row < 0) return worstCells(block, 1)[0] ?? { row: 0, column: 0 };
  const clampIndex = (value: number, last: number) => Math.min(Math.max(value, 0), last);
  return {
    row: clampIndex(cell.row + move[0], max.row),
    column: clampIndex(cell.column + move[1], max.column),
  };
}

/** Names that fit side by side: every first, second, fifth, tenth, ... of them. */
export function everyNth(count: number, room: number, needed: number): number {
  for (let size = 1; ; size *= 10) {
    for (const step of [1, 2, 5]) {
      if (size * step * room >= needed || size * step >= count) return size * step;
    }
  }
}

/** The largest cells, the largest first; cells without anything are left out. */
export function worstCells(block: Heatmap, max: number): Cell[] {
  const cells = block.rows.flatMap(({ values }, row) =>
    values.flatMap((value, column) => (value ? [{ row, column, value }] : [])),
  );
  cells.sort((a, b) => b.value - a.value);
  return cells.slice(0, max).map(({ row, column }) => ({ row, column }));
}

/** The largest value there is; 0 where there is none. */
export function largest(block: Heatmap): number {
  let max = 0;
  for (const { values } of block.rows) {
    for (const value of values) if (value !== null && value > max) max = value;
  }
  return max;
}

/** How far along the scale of colours a value is: roots, so that one large value hides no other. */
export function onScale(value: number, max: number): number {
  return max > 0 ? Math.sqrt(Math.min(Math.max(value / max, 0), 1)) : 0;
}
