import { describe, expect, it } from "vitest";
import { column } from "../testing";
import { columnMeasures, missingDecimals } from "./measures";

describe("measures", () => {
  it("give the room that is left to long texts, as each can use it", () => {
    const columns = [
      column("device", "text", ["GPU0"]),
      column("kernel", "text", ["a_kernel_with_a_rather_long_name_and_even_more_of_it"]),
      column("operator", "text", ["aten::max_pool2d_with_indices"]),
      column("total", "time_ns", [1_500]),
    ];
    const [device, kernel, operator, total] = columnMeasures(columns, 1, false).map(
      ({ grows }) => grows,
    );
    expect([device, total]).toEqual([0, 0]);
    expect(kernel).toBeGreaterThan(2 * (operator ?? 0));
    expect((kernel ?? 0) + (operator ?? 0)).toBeCloseTo(1);
  });

  it("leave a table of short words narrow, unless it fills the page", () => {
    const columns = [column("device", "text", ["GPU0"])];
    expect(columnMeasures(columns, 1, false)[0]?.grows).toBe(0);
    expect(columnMeasures(columns, 1, true)[0]?.grows).toBe(1);
  });

  it("let a single long text give way to its neighbours", () => {
    const names = [...Array(99).fill("aten::add"), "x".repeat(300)];
    expect(columnMeasures([column("operator", "text", names)], 100, false)[0]?.grows).toBe(0);
  });

  it("put the points of a column below each other", () => {
    const [times] = columnMeasures(
      [column("total", "time_ns", [12, 1_500, 480_000_000])],
      3,
      false,
    );
    expect(times).toMatchObject({ decimals: 2, unit: 2 });
    expect(missingDecimals("480.0", 2)).toBe(1);
    expect(missingDecimals("12", 2)).toBe(2.5);
    expect(missingDecimals("12", 0)).toBe(0);
  });

  it("draw bars relative to the largest number", () => {
    const share = column("share", "share", [0.1, 0.4, null], { bar: true });
    expect(columnMeasures([share], 3, false)[0]?.max).toBe(0.4);
  });
});
