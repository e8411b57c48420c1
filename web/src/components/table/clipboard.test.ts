import { describe, expect, it } from "vitest";
import { column, table } from "../testing";
import { rowCountText, toTsv } from "./clipboard";

describe("copied rows", () => {
  it("have titles with units and exact numbers, and stay in their cells", () => {
    const columns = [
      column("name", "text", ["a\tb\nc", "d"]),
      column("total", "time_ns", [1234.5, null]),
    ];
    expect(toTsv(columns, [1, 0])).toBe("name\ttotal (ns)\nd\t\na b c\t1234.5\n");
  });
});

describe("how many rows", () => {
  const calls = table([column("calls", "count", [1, 2, 3])]);

  it("says what matches, what was left out and what is not shown", () => {
    expect(rowCountText(calls, 3, 3)).toBe("3 rows");
    expect(rowCountText(calls, 1, 1)).toBe("1 of 3 rows match");
    expect(rowCountText({ ...calls, total_rows: 5 }, 1, 1)).toBe(
      "1 of 3 rows match; 2 more not included",
    );
    expect(rowCountText({ ...calls, total_rows: 1200 }, 3, 2)).toBe(
      "first 3 of 1 200 rows; first 2 shown",
    );
  });
});
