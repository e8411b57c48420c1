import { describe, expect, it } from "vitest";
import { lengthText, niceStep, tickLabel, ticks } from "./ticks";

describe("steps of the ruler", () => {
  it.each([
    [0.3, 1],
    [1, 1],
    [3, 5],
    [11, 20],
    [1000, 1000],
    [7.2e8, 1e9],
    [15e9, 20e9],
    [21e9, 60e9],
    [70 * 60e9, 120 * 60e9],
    [30 * 3600e9, 48 * 3600e9],
  ])("%d becomes the round %d", (min, step) => {
    expect(niceStep(min)).toBe(step);
  });
});

describe("labels", () => {
  it.each([
    [0, 1000, "0"],
    [1500, 500, "1.5 us"],
    [2_000_000, 1_000_000, "2 ms"],
    [932_700_000, 100_000, "932.7 ms"],
    [1_000_000_020, 20, "1.00000002 s"],
    [40, 20, "40 ns"],
    [100e9, 20e9, "100 s"],
    [5400e9, 1800e9, "1 h 30 min"],
    [180_000e9, 7200e9, "2 d 2 h"],
  ])("%d with marks %d apart reads %s", (time, step, label) => {
    expect(tickLabel(time, step)).toBe(label);
  });
  it("of whole recordings read as people say them", () => {
    expect([4.99e6, 259_199.9e9, 5400e9].map(lengthText)).toEqual(["4.99 ms", "3 d", "1 h 30 min"]);
  });
  it("differ from mark to mark", () => {
    const { marks } = ticks(12_345_678, 12_349_999, 1200);
    expect(new Set(marks.map((mark) => mark.label)).size).toBe(marks.length);
    expect(marks.length).toBeGreaterThan(4);
  });
  it("do not come before the recording", () => {
    expect(ticks(-500, 500, 1000).marks[0]?.time).toBe(0);
  });
});
