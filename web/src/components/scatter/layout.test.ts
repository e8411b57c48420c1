import { describe, expect, it } from "vitest";
import { scatter } from "../testing";
import { scatterTable, summary } from "./description";
import {
  isBeyond,
  layoutScatter,
  placeNames,
  pointAfter,
  radii,
  roofLines,
  tickLabel,
} from "./layout";

const [MM, COPY] = [
  { name: "aten::mm", x: 400, y: 5e14, size: 900 },
  { name: "aten::add", x: 0.25, y: 1e12, size: 90 },
];
const BLOCK = scatter([MM, COPY]);
const PLOT = layoutScatter(BLOCK, 800);

describe("axes", () => {
  it("have room for points and corners of roofs", () => {
    const { x, y } = PLOT;
    expect(x.low).toBeLessThan(0.25);
    expect(x.high).toBeGreaterThan(400);
    expect(y.high).toBeGreaterThan(1e15);
    expect(x.at(0.25)).toBeGreaterThan(PLOT.left);
    expect(y.at(1e12)).toBeGreaterThan(y.at(5e14));
    expect(x.ticks).toEqual([0.1, 1, 10, 100, 1000]);
  });

  it("leave tiny points far away at their end", () => {
    const tiny = { name: "aten::mean", x: 0.3, y: 1e3, size: 0.001 };
    const block = scatter([MM, COPY, tiny]);
    const plot = layoutScatter(block, 800);
    expect(plot.y.low).toBe(PLOT.y.low);
    expect(block.points.map((point) => isBeyond(plot, point))).toEqual([false, false, true]);
    expect(plot.y.at(1e3)).toBe(plot.bottom);
  });

  it("are worded with prefixes", () => {
    expect([1e13, 1e9, 1000, 1, 0.01].map(tickLabel)).toEqual(["10 T", "1 G", "1 k", "1", "0.01"]);
  });

  it("hold even where nothing is drawn", () => {
    expect(layoutScatter(scatter([]), 300).x.ticks.length).toBeGreaterThan(1);
  });
});

describe("roofs", () => {
  it("are a slope up to the highest, and flat from where it meets them", () => {
    const [slope, high, low] = roofLines(BLOCK, PLOT);
    expect(slope?.to[0]).toBeCloseTo(high?.from[0] ?? 0);
    expect(slope?.to[1]).toBeCloseTo(high?.from[1] ?? 0);
    expect(slope?.label.angle).toBeLessThan(0);
    expect(low?.from[0]).toBeCloseTo(PLOT.x.at(1e14 / 5e12));
    expect(low?.to[0]).toBe(PLOT.right);
  });

  it("have names that do not touch, however near they are", () => {
    const near = [1e15, 0.99e15, 0.98e15].map((value) => ({
      name: `${value}`,
      value,
      slopes: false,
    }));
    const heights = roofLines({ ...BLOCK, roofs: near }, PLOT).map(({ label }) => label.y);
    for (const [at, height] of heights.entries())
      if (at) expect(height - (heights[at - 1] ?? 0)).toBeGreaterThanOrEqual(13);
  });
});

describe("points", () => {
  it("have areas as their sizes", () => {
    const [large = 0, small = 0] = radii(
      scatter([
        { ...MM, size: 400 },
        { ...COPY, size: 100 },
      ]).points,
      800,
    );
    expect(large / small).toBeCloseTo(2);
  });

  it("have their names beside them, each once and none on another", () => {
    const same = Array.from({ length: 30 }, (_, at) => ({ ...MM, x: 400 + at, size: 900 - at }));
    const near = { name: "aten::bmm", x: 420, y: 5e14, size: 500 };
    const block = scatter([...same, near, COPY]);
    const names = placeNames(block, PLOT, roofLines(block, PLOT));
    expect(names.map(({ text }) => text)).toEqual(["mm"]);
    expect(placeNames(BLOCK, PLOT, []).map(({ text }) => text)).toEqual(["mm", "add"]);
  });

  it("are reached by arrow keys, the largest first", () => {
    expect(pointAfter(BLOCK, -1, "ArrowDown")).toBe(0);
    expect(pointAfter(BLOCK, 0, "ArrowLeft")).toBe(1);
    expect(pointAfter(BLOCK, 1, "ArrowLeft")).toBe(1);
    expect(pointAfter(BLOCK, 1, "ArrowUp")).toBe(0);
    expect(pointAfter(BLOCK, 1, "Home")).toBe(0);
    expect(pointAfter(BLOCK, 1, "x")).toBeNull();
    expect(pointAfter(scatter([]), -1, "ArrowUp")).toBeNull();
  });

  it("are told in words and as a table", () => {
    expect(summary(BLOCK)).toBe(
      "2 points, FLOP/s by FLOP per byte: 2 bound by memory. " +
        "The largest is aten::mm, time per step 900 ns, TFLOP/s 500.000.",
    );
    const table = scatterTable(BLOCK);
    expect(table.rows).toBe(2);
    expect(table.columns.map(({ title }) => title)).toContain("TFLOP/s");
    expect(table.columns[0]?.link).toBe("operator");
  });
});
