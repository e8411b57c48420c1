import { describe, expect, it } from "vitest";
import { scaleAround, scaleOfChanges, spanOn } from "./scale";

describe("scales of changes", () => {
  it("always show zero", () => {
    const scale = scaleAround([5, 10]);
    expect(scale(0)).toBeGreaterThan(0);
    expect(scale(0)).toBeLessThan(10);
    expect(scale(10)).toBeLessThan(100);
  });

  it("grow to the left for less and to the right for more", () => {
    const scale = scaleAround([-10, 10]);
    expect(scale(0)).toBeCloseTo(50);
    expect(Number.parseFloat(spanOn(scale, 0, -10).left)).toBeLessThan(50);
    expect(Number.parseFloat(spanOn(scale, 0, 10).left)).toBeCloseTo(50);
  });

  it("are not stretched by an interval much wider than any change", () => {
    const rows = [
      { change: 10, low: -1000, high: 1000 },
      { change: 2, low: null, high: null },
    ];
    const scale = scaleOfChanges(rows);
    expect(scale(10) - scale(0)).toBeGreaterThan(30);
    expect(scale(1000)).toBe(100);
  });

  it("can do without any change", () => {
    expect(scaleOfChanges([])(0)).toBeCloseTo(50);
  });
});
