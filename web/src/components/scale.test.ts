import { describe, expect, it } from "vitest";
import { roundOutward, scaleAround, scaleOfChanges, spanOn, spreadLabels } from "./scale";

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

it("rounds intervals outward, as sentences do", () => {
  expect(roundOutward(0.08463, 0.37455)).toEqual([0.084, 0.375]);
  expect(roundOutward(-0.0649, 0.123)).toEqual([-0.065, 0.123]);
});

it("keeps labels of an interval apart, and leaves out a zero in their way", () => {
  const labels = (low: number, high: number) =>
    spreadLabels([
      { at: 4, text: "0" },
      { at: low, text: "+490.6 %" },
      { at: high, text: "+587.4 %" },
    ]);
  expect(labels(40, 90).map(({ at }) => at)).toEqual([4, 40, 90]);
  const [zero, low, high] = labels(80, 96);
  expect([zero?.text, (high?.at ?? 0) - (low?.at ?? 0) > 20]).toEqual(["0", true]);
  expect(labels(8, 60)).toHaveLength(2);
});
