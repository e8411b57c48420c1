import { describe, expect, it } from "vitest";
import { type ExampleSlice, pieceOf, slicesOf } from "./example";
import { hitAt, neighbour, sliceAt } from "./hit";
import { DEFAULT_FOLDING, layOut, rowTop } from "./layout";
import { byTrack, firstEndingAfter, rowCount } from "./rows";

const WRITTEN: ExampleSlice[] = [
  [1, 0, 0, 100, 7],
  [1, 0, 100, 50, 8],
  [1, 0, 400, 100, 9],
  [1, 2, 10, 20, 5],
  [3, 0, 0, 10],
];
const pieces = [pieceOf(WRITTEN, 1, 0, 1000)];

describe("rows of an answer", () => {
  const parts = byTrack(slicesOf(WRITTEN), [1, 2, 3]);
  it("are found by track, empty ones included", () => {
    expect([...parts.get(1)!.begin]).toEqual([0, 3, 3, 4]);
    expect([...parts.get(3)!.begin]).toEqual([4, 5]);
    expect(rowCount(parts.get(2)!)).toBe(0);
  });
  it("are searched by time", () => {
    const part = parts.get(1)!;
    expect(firstEndingAfter(part, 0, -5)).toBe(0);
    expect(firstEndingAfter(part, 0, 100)).toBe(1);
    expect(firstEndingAfter(part, 0, 200)).toBe(2);
    expect(firstEndingAfter(part, 0, 500)).toBe(3);
  });
});

describe("the slice at a place", () => {
  it("is the one there", () => {
    expect(sliceAt(pieces, 0, 120, 0)?.code).toBe(8);
    expect(sliceAt(pieces, 2, 15, 0)?.code).toBe(5);
  });
  it("is the nearest within reach, or none", () => {
    expect(sliceAt(pieces, 0, 395, 10)?.code).toBe(9);
    expect(sliceAt(pieces, 0, 300, 10)).toBeNull();
    expect(sliceAt(pieces, 9, 50, 10)).toBeNull();
  });
  it("is found by height and time", () => {
    const track = {
      id: 1,
      group: "g",
      rows: 3,
      kind: "host",
      name: "t",
      events: 4,
      unit: "",
      lowest: 0,
      highest: 0,
    } as const;
    const layout = layOut([track], DEFAULT_FOLDING);
    const y = rowTop(layout.byTrack.get(1)!, 2) + 5;
    expect(hitAt(layout, y, 15, 0, () => pieces)?.slice?.code).toBe(5);
    expect(hitAt(layout, y, 500, 0, () => pieces)).toMatchObject({ row: 2, slice: null });
    expect(hitAt(layout, 3, 15, 0, () => pieces)).toBeNull();
  });
});

describe("neighbours", () => {
  const first = { row: 0, from_ns: 0, dur_ns: 100 };
  const last = { row: 0, from_ns: 400, dur_ns: 100 };
  it("are one step away in the row", () => {
    expect(neighbour(pieces, first, 1)?.code).toBe(8);
    expect(neighbour(pieces, last, -1)?.code).toBe(8);
  });
  it("end where the row ends", () => {
    expect(neighbour(pieces, last, 1)).toBeNull();
    expect(neighbour(pieces, first, -1)).toBeNull();
  });
});
