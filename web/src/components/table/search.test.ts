import { describe, expect, it } from "vitest";
import { column, table } from "../testing";
import { readQuery, rowMatches, splitMatches } from "./search";

const KERNELS = table([
  column("name", "text", ["vectorized<4>", "gemm", "softmax"]),
  column("device_total_ns", "time_ns", [500, 20_000, 3_000_000], { title: "device total" }),
  column("calls", "count", [1, 100, null]),
]);

function matchingRows(search: string, sortedBy?: string): number[] {
  const query = readQuery(KERNELS, search, sortedBy);
  return [0, 1, 2].filter((row) => rowMatches(KERNELS, row, query));
}

describe("a search", () => {
  it("finds rows with all its words, in any case", () => {
    expect(matchingRows("GEMM")).toEqual([1]);
    expect(matchingRows("gemm softmax")).toEqual([]);
  });

  it("understands conditions with units, by key, title or the beginning of either", () => {
    expect(matchingRows("device_total_ns>10us")).toEqual([1, 2]);
    expect(matchingRows("devicetotal<=20us")).toEqual([0, 1]);
    expect(matchingRows("dev>=3ms")).toEqual([2]);
  });

  it("means the sorted column where a condition names none", () => {
    expect(matchingRows(">10us", "device_total_ns")).toEqual([1, 2]);
  });

  it("finds no row that lacks the number", () => {
    expect(matchingRows("calls<1000")).toEqual([0, 1]);
  });

  it("takes what is no condition as a word: names hold < and > too", () => {
    expect(matchingRows("vectorized<4")).toEqual([0]);
    expect(matchingRows("<4>")).toEqual([0]);
  });
});

describe("marks", () => {
  it("cover all matches, also where words overlap", () => {
    const marked = splitMatches("Softmax", ["soft", "ftm"]);
    expect(marked).toEqual([
      { text: "Softm", isMatch: true },
      { text: "ax", isMatch: false },
    ]);
  });
});
