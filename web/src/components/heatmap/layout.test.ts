import { describe, expect, it } from "vitest";
import type { Heatmap } from "../../document/types";
import {
  cellAfter,
  cellAt,
  everyNth,
  largest,
  layoutHeat,
  NO_CELL,
  onScale,
  worstCells,
} from "./layout";

function map(values: (number | null)[][]): Heatmap {
  return {
    type: "heatmap",
    id: "waits",
    title: "Waits",
    kind: "time_ns",
    value_title: "wait caused",
    row_title: "rank",
    column_title: "step",
    columns: (values[0] ?? []).map((_, at) => String(at)),
    rows: values.map((rowValues, at) => ({
      name: String(at),
      values: rowValues,
      about: "",
      worker: "",
      marked: false,
    })),
    mark_title: "",
    note: "",
  };
}

const WAITS = map([
  [0, 5, null],
  [9, 1, 0],
]);

describe("cells of a heat map", () => {
  const layout = layoutHeat(WAITS, 150, 20);

  it("fill the width beside the names of rows, and no row is wide beyond reason", () => {
    expect(layout.left).toBe(36);
    expect(layout.left + 3 * layout.cellWidth).toBe(150);
    expect(layoutHeat(WAITS, 2000, 20).cellWidth).toBe(96);
  });

  it("get lower the more there are, so that two hundred fit a screen or two", () => {
    const many = map(Array.from({ length: 200 }, () => [1]));
    expect(layoutHeat(many, 800, 20).height).toBeLessThan(1300);
  });

  it("are found below the mouse", () => {
    const middle = (row: number, column: number): [number, number] => [
      layout.left + (column + 0.5) * layout.cellWidth,
      layout.top + (row + 0.5) * layout.cellHeight,
    ];
    expect(cellAt(WAITS, layout, ...middle(1, 2))).toEqual({ row: 1, column: 2 });
    expect(cellAt(WAITS, layout, 5, 30)).toEqual(NO_CELL);
    expect(cellAt(WAITS, layout, ...middle(2, 0))).toEqual(NO_CELL);
  });

  it("are reached by arrow keys, the worst one first", () => {
    expect(cellAfter(WAITS, NO_CELL, "ArrowDown")).toEqual({ row: 1, column: 0 });
    expect(cellAfter(WAITS, { row: 1, column: 0 }, "ArrowUp")).toEqual({ row: 0, column: 0 });
    expect(cellAfter(WAITS, { row: 1, column: 0 }, "ArrowLeft")).toEqual({ row: 1, column: 0 });
    expect(cellAfter(WAITS, { row: 0, column: 1 }, "End")).toEqual({ row: 0, column: 2 });
    expect(cellAfter(WAITS, NO_CELL, "x")).toBeNull();
  });

  it("are told by the largest first, without those that hold nothing", () => {
    expect(worstCells(WAITS, 2)).toEqual([
      { row: 1, column: 0 },
      { row: 0, column: 1 },
    ]);
    expect(worstCells(WAITS, 10)).toHaveLength(3);
    expect(largest(WAITS)).toBe(9);
    expect(largest(map([[null]]))).toBe(0);
  });
});

describe("the scale of colours", () => {
  it("lets a small value be seen beside a large one", () => {
    expect(onScale(4, 100)).toBe(0.2);
    expect([onScale(0, 9), onScale(9, 9), onScale(0, 0)]).toEqual([0, 1, 0]);
  });
});

describe("names beside rows", () => {
  it("are as many as fit, by round numbers", () => {
    expect(everyNth(64, 14, 12)).toBe(1);
    expect(everyNth(200, 6, 13)).toBe(5);
    expect(everyNth(1000, 1, 13)).toBe(20);
  });
});
