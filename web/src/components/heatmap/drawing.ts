import type { Heatmap } from "../../document/types";
import { colourOf } from "../theme";
import { colourAt, heatColours } from "./colours";
import { type Cell, everyNth, type HeatLayout, largest, layoutHeat, onScale } from "./layout";

const FONT_PX = 11;
const LETTERS = 18;
/** Cells smaller than this touch: a gap would be all one sees. */
const ROOM_FOR_GAP = 8;

/** Draws the map into a canvas of its width, and says where everything is. */
export function drawHeat(canvas: HTMLCanvasElement, block: Heatmap, current: Cell): HeatLayout {
  const context = canvas.getContext("2d");
  const font = `${FONT_PX}px ${colourOf("--sans")}`;
  if (context) context.font = font;
  const names = block.rows.map(({ name, marked }) =>
    marked ? `▸ ${shorten(name)}` : shorten(name),
  );
  const widest = context ? Math.max(...names.map((name) => context.measureText(name).width), 0) : 0;
  const layout = layoutHeat(block, canvas.clientWidth, widest);
  if (!context) return layout;
  const ratio = devicePixelRatio || 1;
  canvas.style.height = `${layout.height}px`;
  canvas.width = Math.round(layout.width * ratio);
  canvas.height = Math.round(layout.height * ratio);
  context.scale(ratio, ratio);
  context.font = font;
  context.textBaseline = "middle";
  drawCells(context, block, layout);
  drawRowNames(context, block, layout, names);
  drawColumnNames(context, block, layout);
  if (current.row >= 0) drawFrame(context, layout, current);
  return layout;
}

function drawCells(context: CanvasRenderingContext2D, block: Heatmap, layout: HeatLayout): void {
  const colours = heatColours();
  const max = largest(block);
  const { left, top, cellWidth, cellHeight } = layout;
  const gap = (size: number) => (size >= ROOM_FOR_GAP ? 1 : 0);
  const nothing = colourOf("--quiet");
  for (const [row, { values }] of block.rows.entries()) {
    const y = top + row * cellHeight;
    for (const [column, value] of values.entries()) {
      const x = left + column * cellWidth;
      // Without gaps, neighbours overlap a little, or the ground would shine through.
      const width = cellWidth - gap(cellWidth) + (gap(cellWidth) ? 0 : 0.5);
      const height = cellHeight - gap(cellHeight) + (gap(cellHeight) ? 0 : 0.5);
      if (value === null) {
        context.fillStyle = nothing;
        context.fillRect(x + width / 2 - 2, y + height / 2 - 0.5, 4, 1);
        continue;
      }
      context.fillStyle = colourAt(colours, onScale(value, max));
      context.fillRect(x, y, width, height);
    }
  }
}

function drawRowNames(
  context: CanvasRenderingContext2D,
  block: Heatmap,
  layout: HeatLayout,
  names: string[],
): void {
  const nth = everyNth(names.length, layout.cellHeight, FONT_PX + 2);
  context.textAlign = "right";
  const y = (row: number) => layout.top + (row + 0.5) * layout.cellHeight;
  const marked = block.rows.flatMap((heatRow, row) => (heatRow.marked ? [row] : []));
  const apart = (row: number) =>
    marked.every((other) => Math.abs(other - row) * layout.cellHeight >= FONT_PX);
  for (const [row, name] of names.entries()) {
    const isMarked = marked.includes(row);
    if (!isMarked && (row % nth || !apart(row))) continue;
    context.fillStyle = colourOf(isMarked ? "--bad" : "--quiet");
    context.font = `${isMarked ? "bold " : ""}${FONT_PX}px ${colourOf("--sans")}`;
    context.fillText(name, layout.left - 6, y(row), layout.left - 8);
  }
}

function drawColumnNames(
  context: CanvasRenderingContext2D,
  block: Heatmap,
  layout: HeatLayout,
): void {
  context.font = `${FONT_PX}px ${colourOf("--sans")}`;
  context.textAlign = "center";
  context.fillStyle = colourOf("--quiet");
  const names = block.columns.map(shorten);
  const needed = Math.max(...names.map((name) => context.measureText(name).width), 0) + 8;
  const nth = everyNth(names.length, layout.cellWidth, needed);
  for (let column = 0; column < names.length; column += nth) {
    const x = layout.left + (column + 0.5) * layout.cellWidth;
    const half = context.measureText(names[column] ?? "").width / 2;
    context.fillText(names[column] ?? "", Math.min(x, layout.width - half), layout.top / 2);
  }
}

function drawFrame(context: CanvasRenderingContext2D, layout: HeatLayout, cell: Cell): void {
  const { left, top, cellWidth, cellHeight } = layout;
  context.strokeStyle = colourOf("--text");
  context.lineWidth = 2;
  context.strokeRect(
    left + cell.column * cellWidth,
    top + cell.row * cellHeight,
    Math.max(cellWidth - 1, 2),
    Math.max(cellHeight - 1, 2),
  );
}

function shorten(name: string): string {
  return name.length <= LETTERS ? name : `${name.slice(0, LETTERS - 1)}…`;
}
