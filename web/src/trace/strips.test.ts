import { expect, it } from "vitest";
import { COLOURS, DIM, OVERLAY_COLOURS } from "./colours";
import { type ExampleSlice, pieceOf } from "./example";
import { DEFAULT_FOLDING, layOut } from "./layout";
import { Names } from "./names";
import { Strips } from "./strips";
import type { Track } from "./types";

const TRACK: Track = {
  ...{ id: 1, kind: "host", group: "g", name: "t", rows: 1, events: 1, unit: "" },
  ...{ lowest: 0, highest: 0 },
};
const view = { from: 0, to: 100, width: 100 };
/** Each colour is the number of itself. */
const FILLS = Array.from({ length: COLOURS + 2 }, (_, i) => `#${i.toString(16).padStart(6, "0")}`);

function drawStrips(
  written: ExampleSlice[],
  { ratio = 1, search = "", cuts = [0, 1000], fixed = null as number | null } = {},
) {
  const names = new Names();
  names.add({ 0: "one", 1: "two" });
  names.search(search);
  const strips = new Strips();
  strips.begin(view.width, 40, ratio, FILLS);
  const pieces = cuts.slice(1).map((to, i) => pieceOf(written, 1, cuts[i]!, to));
  const item = layOut([TRACK], DEFAULT_FOLDING).byTrack.get(1)!;
  strips.track(item, pieces, names, view, 0, 80, fixed);
  const alpha = Array.from(strips.pixels.subarray(0, strips.width), (pixel) => pixel >>> 24);
  return { strips, alpha, filled: alpha.flatMap((value, x) => (value ? [x] : [])) };
}

it("a slice covers its time, but a pixel that tells it from the next", () => {
  expect(drawStrips([[1, 0, 10, 5]]).filled).toEqual([10, 11, 12, 13]);
});

it("the shortest slice is a pixel", () => {
  expect(drawStrips([[1, 0, 10, 0.001]]).filled).toEqual([10]);
});

it("sharp screens have more pixels", () => {
  expect(drawStrips([[1, 0, 10, 1]], { ratio: 2 }).filled).toEqual([20, 21]);
});

it("a pixel belongs to the first slice on it", () => {
  const { strips } = drawStrips([
    [1, 0, 10, 0.2, 0],
    [1, 0, 10.3, 0.2, 1],
  ]);
  expect(strips.slices).toBe(2);
  const colour = new Names();
  colour.add({ 0: "one" });
  expect(strips.pixels[10]! & 0xff0000).toBe(colour.colour("host", 0) << 16);
});

it("merged slices are fainter the less busy they are", () => {
  const { alpha } = drawStrips([
    [1, 0, 10, 1, 0, 5],
    [1, 0, 20, 1, 0, 1],
  ]);
  expect(alpha[10]).toBeGreaterThan(60);
  expect(alpha[10]).toBeLessThan(200);
  expect(alpha[20]).toBe(255);
});

it("a slice across two answers has one name", () => {
  const { strips } = drawStrips([[1, 0, 0, 100]], { cuts: [0, 50, 1000] });
  expect(strips.labels).toHaveLength(1);
  expect(strips.labels[0]).toMatchObject({ x: 0, room: 92 });
});

it("what a search does not find is dim and has no name", () => {
  const { strips } = drawStrips([[1, 0, 0, 90, 0]], { search: "two" });
  expect(strips.pixels[5]! & 0xff0000).toBe(DIM << 16);
  expect(strips.labels).toEqual([]);
});

it("what is drawn over slices has its own colour and no name", () => {
  const { strips } = drawStrips([[1, 0, 0, 90, 0]], { fixed: OVERLAY_COLOURS.recording });
  expect(strips.pixels[5]! & 0xff0000).toBe(OVERLAY_COLOURS.recording << 16);
  expect(strips.labels).toEqual([]);
});
