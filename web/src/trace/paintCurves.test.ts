import { expect, it } from "vitest";
import { pieceOf } from "./example";
import { valueText } from "./Names";
import { pointAt, valueAt } from "./paintCurves";
import { busyShares } from "./paintRuler";

it("a value holds until the next one", () => {
  expect(pointAt([10, 20, 30], 9)).toBe(-1);
  expect(pointAt([10, 20, 30], 20)).toBe(1);
  expect(pointAt([10, 20, 30], 29)).toBe(1);
  expect(pointAt([10, 20, 30], 99)).toBe(2);
});

it("a value is told with its spread, and none before the first", () => {
  const data = { track: 1, x: [10, 20], low: [1, 2], mean: [3, 4], high: [5, 6] };
  const answer = { key: "", size: 1, used: 0, tracks: [1] };
  const pieces = [{ from: 0, to: 100, chunk: { from: 0, to: 100, level: 0, data, answer } }];
  expect(valueAt(pieces, 15)).toMatchObject({ low: 1, mean: 3, high: 5 });
  expect(valueAt(pieces, 5)).toBeNull();
  expect(valueAt(pieces, 101)).toBeNull();
});

it("the overview adds up how busy each pixel is", () => {
  const piece = pieceOf(
    [
      [1, 0, 0, 15],
      [1, 0, 20, 10, 0, 4],
    ],
    1,
    0,
    40,
  );
  const shares = busyShares([piece], { from: 0, to: 40, width: 4 });
  expect([...shares]).toEqual([1, 0.5, 0.5, 0]);
});

it("values of an axis have their unit, and no digits that say nothing", () => {
  const cases = [
    [0, "%"],
    [129.2, "W"],
    [1980, "MHz"],
    [2048, "B"],
    [75_900_000, "B/s"],
  ] as const;
  const texts = cases.map(([value, unit]) => valueText(value, unit));
  expect(texts).toEqual(["0 %", "129.2 W", "1 980 MHz", "2.0 KiB", "72.4 MiB/s"]);
});
