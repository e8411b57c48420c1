import { describe, expect, it } from "vitest";
import { between, clamp, focusOn, panBy, reveal, SHORTEST_NS, toTime, toX, zoomAt } from "./view";

const view = { from: 1000, to: 3000, width: 500 };
const LENGTH = 10_000;

describe("time and pixels", () => {
  it("are each other's inverse", () => {
    expect(toX(view, 2000)).toBe(250);
    expect(toTime(view, toX(view, 1234))).toBeCloseTo(1234);
  });
});

describe("zooming", () => {
  it("keeps the time beneath the pointer", () => {
    const zoomed = zoomAt(view, 125, 2, LENGTH);
    expect(zoomed.to - zoomed.from).toBeCloseTo(1000);
    expect(toTime(zoomed, 125)).toBeCloseTo(toTime(view, 125));
  });
  it("ends at the whole recording and at what clocks can tell", () => {
    const farthest = zoomAt(view, 250, 1e-9, LENGTH);
    expect(farthest.from).toBeLessThanOrEqual(0);
    expect(farthest.to).toBeGreaterThanOrEqual(LENGTH);
    expect(farthest.to - farthest.from).toBeLessThan(LENGTH * 1.1);
    const closest = zoomAt(view, 250, 1e9, LENGTH);
    expect(closest.to - closest.from).toBeCloseTo(SHORTEST_NS);
  });
});

describe("moving", () => {
  it("goes by pixels", () => {
    expect(panBy(view, 50, LENGTH)).toEqual({ from: 1200, to: 3200, width: 500 });
  });
  it("stops at the ends without zooming", () => {
    const pushed = panBy(view, 1e6, LENGTH);
    expect(pushed.to - pushed.from).toBeCloseTo(2000);
    expect(pushed.to).toBeGreaterThanOrEqual(LENGTH);
    expect(pushed.to).toBeLessThan(LENGTH * 1.05);
  });
  it("of a view larger than the recording shows all of it", () => {
    const all = clamp({ from: -1e9, to: 1e9, width: 500 }, LENGTH);
    expect(all.from).toBeLessThanOrEqual(0);
    expect(all.to).toBeGreaterThanOrEqual(LENGTH);
    expect(all.to - all.from).toBeLessThan(LENGTH * 1.1);
  });
});

describe("bringing something into view", () => {
  it("puts it in the middle", () => {
    const focused = focusOn(view, 5000, 5600, LENGTH, 0.6);
    expect(toX(focused, 5000)).toBeCloseTo(100);
    expect(toX(focused, 5600)).toBeCloseTo(400);
  });
  it("moves only as far as needed", () => {
    expect(reveal(view, 1500, 1600, LENGTH)).toBe(view);
    const moved = reveal(view, 6000, 6100, LENGTH);
    expect(moved.to - moved.from).toBeCloseTo(2000);
    expect(toX(moved, 6050)).toBeCloseTo(250);
  });
  it("zooms where it would be too small to see, or too large", () => {
    const small = reveal(view, 1500, 1503, LENGTH);
    expect(toX(small, 1503) - toX(small, 1500)).toBeGreaterThan(10);
    const large = reveal(view, 100, 9000, LENGTH);
    expect(large.from).toBeLessThan(100);
    expect(large.to).toBeGreaterThan(9000);
  });
});

describe("gliding", () => {
  const goal = { from: 2000, to: 2100, width: 500 };
  it("ends at the goal", () => {
    expect(between(view, goal, 1)).toBe(goal);
  });
  it("zooms by the same factor in the same time", () => {
    const half = between(view, goal, 0.5);
    expect(half.to - half.from).toBeCloseTo(Math.sqrt(2000 * 100));
    expect(half.from).toBeGreaterThan(1000);
    expect(half.from).toBeLessThan(2000);
  });
  it("moves evenly where the zoom stays", () => {
    const half = between(view, { from: 2000, to: 4000, width: 500 }, 0.5);
    expect(half.from).toBeCloseTo(1500);
    expect(half.to).toBeCloseTo(3500);
  });
});
