import { describe, expect, it } from "vitest";
import { column, table } from "../testing";
import { createArranger, nextSort } from "./arrangement";

const NAME = column("name", "text", ["gemm2", "copy", null, "gemm10"]);
const TIME = column("time", "time_ns", [5_000, null, 20_000, 100]);
const KERNELS = table([NAME, TIME], { sort: { key: "time", descending: true } });

describe("arranging", () => {
  const arrange = createArranger(KERNELS);

  it("begins in the order the document says, what is missing last", () => {
    expect(arrange({}).rows).toEqual([2, 0, 3, 1]);
  });

  it("keeps what is missing last when it is turned around", () => {
    expect(arrange({ sort: { key: "time", descending: false } }).rows).toEqual([3, 0, 2, 1]);
  });

  it("puts numbers within names in their order", () => {
    expect(arrange({ sort: { key: "name", descending: false } }).rows).toEqual([1, 0, 3, 2]);
  });

  it("leaves the rows as they are when asked to", () => {
    expect(arrange({ sort: null }).rows).toEqual([0, 1, 2, 3]);
  });

  it("shows the rows that answer a search, and all again after it", () => {
    expect(arrange({ search: "GEMM time>1us" }).rows).toEqual([0]);
    expect(arrange({}).rows).toHaveLength(4);
  });

  it("shows the columns asked for, or the main ones", () => {
    const more = table([NAME, TIME, column("grid", "text", ["1", "2", "3", "4"], { main: false })]);
    const keys = (columns?: string[]) =>
      createArranger(more)({ columns }).columns.map(({ key }) => key);
    expect(keys()).toEqual(["name", "time"]);
    expect(keys(["grid", "name"])).toEqual(["name", "grid"]);
    expect(keys(["gone"])).toEqual(["name", "time"]);
  });
});

describe("a click on a title", () => {
  it("sorts numbers from the largest, turns them around, and goes back", () => {
    const plain = { ...KERNELS, sort: null };
    const first = nextSort(plain, TIME, null);
    expect(first).toEqual({ key: "time", descending: true });
    const second = nextSort(plain, TIME, first ?? null);
    expect(second).toEqual({ key: "time", descending: false });
    expect(nextSort(plain, TIME, second ?? null)).toBeUndefined();
  });

  it("sorts texts from A", () => {
    expect(nextSort(KERNELS, NAME, KERNELS.sort)).toEqual({ key: "name", descending: false });
  });
});
