// Slices for tests, written as people would.

import { byTrack } from "./rows";
import type { Slices } from "./types";

export type ExampleSlice = [
  track: number,
  row: number,
  start: number,
  dur: number,
  name?: number,
  count?: number,
];

/** Slices in the order given; ids count from 0, merged ones have none. */
export function slicesOf(slices: ExampleSlice[]): Slices {
  const column = (of: (slice: ExampleSlice, index: number) => number) => slices.map(of);
  return {
    track: Uint16Array.from(column(([track]) => track)),
    row: Uint16Array.from(column(([, row]) => row)),
    start: Float64Array.from(column(([, , start]) => start)),
    dur: Float64Array.from(column(([, , , dur]) => dur)),
    name: Uint32Array.from(column(([, , , , name]) => name ?? 0)),
    count: Uint32Array.from(column(([, , , , , count]) => count ?? 1)),
    busy: Float64Array.from(column(([, , , dur, , count]) => ((count ?? 1) > 1 ? dur / 2 : dur))),
    id: Int32Array.from(column(([, , , , , count], index) => ((count ?? 1) > 1 ? -1 : index))),
  };
}

/** A piece that shows all of a track. */
export function pieceOf(slices: ExampleSlice[], track: number, from: number, to: number) {
  const data = byTrack(slicesOf(slices), [track]).get(track)!;
  const answer = { key: "", size: 1, used: 0, tracks: [track] };
  return { from, to, chunk: { from, to, level: 0, data, answer } };
}
