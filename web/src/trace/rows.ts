// Slices of one track within an answer: where its rows begin, and what lies where in a row.
//
// Slices of a row never overlap, so that both their starts and their ends are in order.

import type { Slices } from "./types";

export interface TrackSlices {
  slices: Slices;
  /** Row `r` is `slices[begin[r]]` up to before `slices[begin[r + 1]]`. */
  begin: Uint32Array;
}

/** Splits an answer by track; tracks asked for that have nothing get empty rows. */
export function byTrack(slices: Slices, tracks: readonly number[]): Map<number, TrackSlices> {
  const parts = new Map<number, TrackSlices>();
  const { track, row } = slices;
  let i = 0;
  while (i < track.length) {
    const id = track[i]!;
    const begin = [i];
    for (; i < track.length && track[i] === id; i++) {
      while (begin.length <= row[i]!) begin.push(i);
    }
    begin.push(i);
    parts.set(id, { slices, begin: Uint32Array.from(begin) });
  }
  const empty = { slices, begin: new Uint32Array(1) };
  for (const id of tracks) if (!parts.has(id)) parts.set(id, empty);
  return parts;
}

export function rowCount(part: TrackSlices): number {
  return part.begin.length - 1;
}

/** Index of the first slice of the row that ends after `time`; the end of the row if none does. */
export function firstEndingAfter(part: TrackSlices, row: number, time: number): number {
  const { start, dur } = part.slices;
  let low = part.begin[row]!;
  let high = part.begin[row + 1]!;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start[middle]! + dur[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}
