// Draws slices, tens of thousands of them in a few milliseconds.
//
// The lines of all rows are put on a small canvas at once, and each is stretched to the height of a
// row.  Names follow where they fit.

import { ROW } from "./layout";
import type { Names } from "./names";
import { type Label, PADDING, Strips } from "./strips";
import type { Theme } from "./theme";

const HEIGHT = ROW - 2;

/** A part of the height of a row. */
export interface Line {
  top: number;
  height: number;
}

const FULL_ROW: Line = { top: 0, height: HEIGHT };
export const AT_TOP: Line = { top: -1, height: 2 };
export const AT_BOTTOM: Line = { top: HEIGHT - 4, height: 5 };

export class SlicePainter extends Strips {
  private readonly strip = document.createElement("canvas");

  /** Puts on the canvas what was collected; as a line of some height at the edge of its rows. */
  draw(context: CanvasRenderingContext2D, theme: Theme, names: Names, line: Line = FULL_ROW): void {
    if (!this.tops.length) return;
    const { width, tops, strip } = this;
    const rows = this.pixels.length / width;
    if (strip.width !== width) strip.width = width;
    if (strip.height !== rows) strip.height = rows;
    const image = new ImageData(new Uint8ClampedArray(this.pixels.buffer), width);
    const lines = strip.getContext("2d", { willReadFrequently: true })!;
    lines.putImageData(image, 0, 0, 0, 0, width, tops.length);
    context.imageSmoothingEnabled = false;
    for (const [i, y] of tops.entries()) {
      context.drawImage(strip, 0, i, width, 1, 0, y + line.top, width / this.ratio, line.height);
    }
    context.font = `11px ${theme.font}`;
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.fillStyle = theme.palette.text;
    const measure = (text: string) => context.measureText(text).width;
    for (const label of this.labels) {
      const text = fitLabel(label, names, measure);
      if (text) context.fillText(text, label.x + PADDING, label.y + HEIGHT / 2 + 0.5);
    }
  }
}

/** The name as far as it fits, with the count of merged slices before it. */
function fitLabel(label: Label, names: Names, measure: (text: string) => number): string {
  const count = label.count > 1 ? `${label.count} × ` : "";
  const room = label.room - (count ? names.width(count, measure) : 0);
  const name = names.truncate(label.code, room, measure);
  return name && count + name;
}
