import { describe, expect, it } from "vitest";
import { alignToTiles, levelOf, Windows } from "./windows";

const LENGTH = 1_000_000;

function windows(limit = 100) {
  const store = new Windows<string>(limit);
  const add = (level: number, from: number, to: number, tracks: number[], size = 1) => {
    const parts = new Map(tracks.map((track) => [track, `${level}:${track}`]));
    store.add({ level, from, to, pixels: 1, tracks }, parts, size);
  };
  return { store, add };
}

describe("resolution and tiles", () => {
  it("have at least a slice per pixel", () => {
    expect(levelOf(1)).toBe(0);
    expect(levelOf(1000)).toBe(9);
    expect(2 ** levelOf(1000)).toBeLessThanOrEqual(1000);
  });
  it("stay the same while one moves within a tile", () => {
    expect(alignToTiles({ from: 700, to: 1500 }, 0, LENGTH)).toEqual({ from: 512, to: 1536 });
    expect(alignToTiles({ from: 710, to: 1510 }, 0, LENGTH)).toEqual({ from: 512, to: 1536 });
    expect(alignToTiles({ from: -50, to: 2 * LENGTH }, 10, LENGTH)).toEqual({
      from: 0,
      to: LENGTH,
    });
  });
});

describe("what is missing", () => {
  it("is asked for once, for all tracks that lack it", () => {
    const { store } = windows();
    expect(store.missingRequests([1, 2], 0, { from: 0, to: 512 }, LENGTH)).toEqual([
      { from: 0, to: 512, level: 0, pixels: 512, tracks: [1, 2] },
    ]);
  });
  it("is only what is not there at this level", () => {
    const { store, add } = windows();
    add(0, 0, 512, [1]);
    add(3, 0, 8192, [2]);
    const requests = store.missingRequests([1, 2], 0, { from: 0, to: 1024 }, LENGTH);
    expect(requests).toMatchObject([
      { from: 512, to: 1024, tracks: [1] },
      { from: 0, to: 1024, tracks: [2] },
    ]);
  });
  it("is nothing beyond the recording", () => {
    const { store } = windows();
    expect(store.missingRequests([1], 0, { from: LENGTH + 600, to: LENGTH + 700 }, LENGTH)).toEqual(
      [],
    );
  });
});

describe("what is shown", () => {
  it("is the right level, and the nearest one where that is not there yet", () => {
    const { store, add } = windows();
    add(0, 0, 512, [1]);
    add(4, 0, 8192, [1]);
    add(9, 0, LENGTH, [1]);
    const pieces = store.pieces(1, 0, { from: 100, to: 9000 });
    expect(pieces.map(({ from, to, chunk }) => [from, to, chunk.level])).toEqual([
      [100, 512, 0],
      [512, 8192, 4],
      [8192, 9000, 9],
    ]);
  });
  it("is nothing of a track nobody asked for", () => {
    expect(windows().store.pieces(1, 0, { from: 0, to: 10 })).toEqual([]);
  });
});

describe("what is kept", () => {
  it("is bounded; the longest unused goes first", () => {
    const { store, add } = windows(3);
    const isStored = (track: number) => store.pieces(track, 0, { from: 0, to: 512 }).length > 0;
    add(0, 0, 512, [1]);
    add(0, 0, 512, [2]);
    add(0, 0, 512, [3]);
    expect(isStored(1)).toBe(true);
    add(0, 0, 512, [4]);
    expect([1, 2, 3, 4].map(isStored)).toEqual([true, false, false, true]);
  });
});
