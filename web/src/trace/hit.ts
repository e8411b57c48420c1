// What is at a place: slice, and neighbours of a slice, within what is loaded.

import { itemAt, type Layout, rowAt, type TrackItem } from "./layout";
import { firstEndingAfter, rowCount, type TrackSlices } from "./rows";
import type { Piece } from "./windows";

/** A slice as it is drawn: one, or several merged (`id` -1). */
export interface DrawnSlice {
  track: number;
  row: number;
  from_ns: number;
  dur_ns: number;
  code: number;
  count: number;
  busy_ns: number;
  id: number;
}

export type PiecesOf = (track: number) => Piece<TrackSlices>[];

export function drawnSlice(part: TrackSlices, index: number): DrawnSlice {
  const { slices } = part;
  return {
    track: slices.track[index]!,
    row: slices.row[index]!,
    from_ns: slices.start[index]!,
    dur_ns: slices.dur[index]!,
    code: slices.name[index]!,
    count: slices.count[index]!,
    busy_ns: slices.busy[index]!,
    id: slices.id[index]!,
  };
}

/** The slice at a time of a row, or the nearest within `slack`: narrow ones can be met too. */
export function sliceAt(
  pieces: readonly Piece<TrackSlices>[],
  row: number,
  time: number,
  slack: number,
): DrawnSlice | null {
  let best: DrawnSlice | null = null;
  let nearest = slack;
  for (const { from, to, chunk } of pieces) {
    if (time < from - slack || time > to + slack || row >= rowCount(chunk.data)) continue;
    const end = chunk.data.begin[row + 1]!;
    for (let i = firstEndingAfter(chunk.data, row, time - slack); i < end; i++) {
      const slice = drawnSlice(chunk.data, i);
      if (slice.from_ns > time + slack) break;
      const away = Math.max(slice.from_ns - time, time - slice.from_ns - slice.dur_ns, 0);
      if (away > nearest || (best && away === nearest)) continue;
      best = slice;
      nearest = away;
    }
  }
  return best;
}

export interface Hit {
  item: TrackItem;
  row: number;
  slice: DrawnSlice | null;
}

/** What is at a height of the layout and a time. */
export function hitAt(
  layout: Layout,
  y: number,
  time: number,
  slack: number,
  piecesOf: PiecesOf,
): Hit | null {
  const item = itemAt(layout, y);
  if (item?.type !== "track") return null;
  const row = rowAt(item, y);
  if (row === null) return null;
  return { item, row, slice: sliceAt(piecesOf(item.track.id), row, time, slack) };
}

/** The slice after (`by` 1) or before (`by` -1) a slice of its row, as far as it is loaded. */
export function neighbour(
  pieces: readonly Piece<TrackSlices>[],
  of: { row: number; from_ns: number; dur_ns: number },
  by: 1 | -1,
): DrawnSlice | null {
  const ordered = by === 1 ? pieces : [...pieces].reverse();
  for (const { chunk } of ordered) {
    if (of.row >= rowCount(chunk.data)) continue;
    const { start } = chunk.data.slices;
    const begin = chunk.data.begin[of.row]!;
    const end = chunk.data.begin[of.row + 1]!;
    if (by === 1) {
      let i = firstEndingAfter(chunk.data, of.row, of.from_ns + of.dur_ns);
      while (i < end && start[i]! < of.from_ns + of.dur_ns) i++;
      if (i < end) return drawnSlice(chunk.data, i);
    } else {
      let i = Math.min(firstEndingAfter(chunk.data, of.row, of.from_ns), end - 1);
      while (i >= begin && start[i]! >= of.from_ns) i--;
      if (i >= begin) return drawnSlice(chunk.data, i);
    }
  }
  return null;
}
