import type { Icicle } from "../../document/types";
import { colourOf } from "../theme";
import type { Layout } from "./layout";

export const ROW = 22;

export interface View {
  /** Node that fills the width; -1 for the whole. */
  zoomed: number;
  /** Node below the pointer or selected by keys; -1 for none. */
  current: number;
  /** Small letters; empty for no search. */
  search: string;
}

/** What part of the whole width is in view. */
export function viewRange(layout: Layout, zoomed: number): [from: number, to: number] {
  if (zoomed < 0) return [0, 1];
  return [layout.from[zoomed] as number, layout.to[zoomed] as number];
}

const HUES = 6;

/** Draws the tree; nodes narrower than half a pixel, and those below them, are left out. */
export function drawIcicle(
  canvas: HTMLCanvasElement,
  block: Icicle,
  layout: Layout,
  view: View,
): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = layout.depths * ROW;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  context.scale(ratio, ratio);
  context.font = `12px ${colourOf("--sans")}`;
  context.textBaseline = "middle";
  const style = icicleStyle();
  const matches = block.texts.map(
    (text) => !view.search || text.toLowerCase().includes(view.search),
  );
  const [from, to] = viewRange(layout, view.zoomed);
  const size = width / (to - from || 1);
  for (let node = 0; node < layout.from.length; ) {
    const left = Math.max(((layout.from[node] as number) - from) * size, 0);
    const right = Math.min(((layout.to[node] as number) - from) * size, width);
    if (right - left < 0.5) {
      node = layout.end[node] as number;
      continue;
    }
    const top = (layout.depth[node] as number) * ROW;
    const code = block.codes[node] as number;
    context.globalAlpha = matches[code] ? 1 : 0.3;
    context.fillStyle = style.fills[hashOf(block.texts[code] ?? "") % HUES] as string;
    context.fillRect(left, top, Math.max(right - left - 1, 0.5), ROW - 1);
    if (right - left > 24) {
      context.globalAlpha = matches[code] ? 1 : 0.7;
      context.fillStyle = style.text;
      context.fillText(
        fitText(context, block.texts[code] ?? "", right - left - 9),
        left + 4,
        top + ROW / 2,
      );
    }
    if (node === view.current) {
      context.globalAlpha = 1;
      context.strokeStyle = style.text;
      context.lineWidth = 2;
      context.strokeRect(left + 1, top + 1, Math.max(right - left - 3, 1), ROW - 3);
    }
    node++;
  }
}

function icicleStyle(): { fills: string[]; text: string } {
  const fills = Array.from({ length: HUES }, (_, at) => colourOf(`--icicle-${at + 1}`));
  return { fills, text: colourOf("--text") };
}

/** A number that is the same for the same name, so that it keeps its colour. */
function hashOf(text: string): number {
  let hash = 7;
  for (let at = 0; at < text.length; at++) hash = (hash * 31 + text.charCodeAt(at)) >>> 0;
  return hash;
}

/** As much of a text as there is room for. */
function fitText(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  let [min, max] = [0, text.length];
  while (min < max) {
    const middle = (min + max + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= room) min = middle;
    else max = middle - 1;
  }
  return min > 1 ? `${text.slice(0, min)}…` : "";
}
