// Rows of slices as lines of pixels, and where names may be written.

import { DIM } from "./colours";
import { ROW, rowTop, type TrackItem } from "./layout";
import { type Names, UNKNOWN } from "./names";
import { firstEndingAfter, rowCount, type TrackSlices } from "./rows";
import { nsPerPixel, type View } from "./view";
import type { Piece } from "./windows";

/** Room below which no name is written. */
const NARROWEST_LABEL = 22;
export const PADDING = 4;
/** Merged slices that are almost never busy are still to be seen. */
const FAINTEST = 0.25;

export interface Label {
  x: number;
  y: number;
  room: number;
  code: number;
  count: number;
  /** Start of the slice: pieces of one slice share a label. */
  start: number;
}

/** Collects the rows of a frame; one is kept for all frames. */
export class Strips {
  width = 0;
  /** One line of `width` per row, as an image has them. */
  pixels = new Uint32Array(0);
  /** Where each row is, in pixels of the page. */
  tops: number[] = [];
  labels: Label[] = [];
  /** Pixels of the screen per pixel of the page. */
  ratio = 1;
  /** How many slices the frame looked at. */
  slices = 0;
  private colours = new Uint32Array(0);
  private max = 0;

  /** Begins a frame of so many pixels of the page. */
  begin(width: number, height: number, ratio: number, fills: readonly string[]): void {
    const wide = Math.max(1, Math.round(width * ratio));
    this.max = Math.ceil(height / ROW) + 2;
    if (this.width !== wide || this.pixels.length < wide * this.max) {
      this.pixels = new Uint32Array(wide * this.max);
    } else {
      this.pixels.fill(0, 0, this.tops.length * wide);
    }
    this.width = wide;
    this.ratio = ratio;
    this.colours = packColours(fills);
    this.tops = [];
    this.labels = [];
    this.slices = 0;
  }

  /** Adds the slices of a track whose rows lie between `top` and `bottom` of the layout. */
  track(
    item: TrackItem,
    pieces: readonly Piece<TrackSlices>[],
    names: Names,
    view: View,
    top: number,
    bottom: number,
    /** Number of the colour of all of them, where it is one. */
    fixed: number | null = null,
  ): void {
    const first = Math.max(0, Math.floor((top - item.y) / ROW));
    const last = Math.min(item.rows - 1, Math.floor((bottom - item.y) / ROW));
    for (let row = first; row <= last && this.tops.length < this.max; row++) {
      const y = rowTop(item, row) - top + 1;
      const line = this.tops.length * this.width;
      this.tops.push(y);
      // Right edge of what is drawn in this row: a pixel belongs to the first slice on it.
      let edge = 0;
      for (const piece of pieces) {
        if (row >= rowCount(piece.chunk.data)) continue;
        edge = this.row(item.track.kind, row, y, line, edge, piece, names, view, fixed);
      }
    }
  }

  private row(
    kind: TrackItem["track"]["kind"],
    row: number,
    y: number,
    line: number,
    firstFree: number,
    piece: Piece<TrackSlices>,
    names: Names,
    view: View,
    fixed: number | null,
  ): number {
    const { pixels, colours, ratio } = this;
    const { data } = piece.chunk;
    const { start, dur, name, count, busy } = data.slices;
    const table = names.colours(kind);
    const scale = ratio / nsPerPixel(view);
    const left = Math.max(0, Math.round((piece.from - view.from) * scale));
    const right = Math.min(this.width, Math.round((piece.to - view.from) * scale));
    const end = data.begin[row + 1]!;
    let edge = Math.max(firstFree, left);
    for (let i = firstEndingAfter(data, row, piece.from); i < end; i++) {
      const from = (start[i]! - view.from) * scale;
      if (from >= right) break;
      this.slices++;
      const begin = Math.round(from);
      const until = Math.min(Math.max(Math.round(from + dur[i]! * scale), begin + 1), right);
      const x = Math.max(begin, edge);
      const width = until - x;
      if (width < 1) continue;
      edge = until;
      const code = name[i]!;
      const tableColour = table[code]!;
      const colour = fixed ?? (tableColour === UNKNOWN ? names.colour(kind, code) : tableColour);
      let pixel = colours[colour]!;
      if (count[i]! > 1) pixel = fade(pixel, busy[i]! / (dur[i]! || 1));
      if (width === 1) {
        pixels[line + x] = pixel;
        continue;
      }
      // A pixel of ground tells neighbours apart.
      pixels.fill(pixel, line + x, line + (width > 3 && until < right ? until - 1 : until));
      if (width >= NARROWEST_LABEL * ratio && colour < DIM) {
        this.label(x / ratio, y, width / ratio, code, count[i]!, start[i]!);
      }
    }
    return edge;
  }

  private label(
    x: number,
    y: number,
    width: number,
    code: number,
    count: number,
    start: number,
  ): void {
    const last = this.labels.at(-1);
    if (last?.start === start && last.y === y) last.room = x + width - last.x - 2 * PADDING;
    else this.labels.push({ x, y, room: width - 2 * PADDING, code, count, start });
  }
}

/** Colours as they lie in an image: red first, opaque. */
function packColours(fills: readonly string[]): Uint32Array<ArrayBuffer> {
  const bytes = fills.flatMap((fill) => {
    const value = Number.parseInt(fill.slice(1), 16);
    return [value >> 16, (value >> 8) & 255, value & 255, 255];
  });
  return new Uint32Array(Uint8Array.from(bytes).buffer);
}

/** The colour of merged slices: the less busy, the fainter. */
function fade(pixel: number, share: number): number {
  const alpha = Math.round(255 * Math.min(1, FAINTEST + (1 - FAINTEST) * share));
  return ((pixel & 0xffffff) | (alpha << 24)) >>> 0;
}
