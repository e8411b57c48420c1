import { expect, it } from "vitest";
import { gridWord, labelWords, momentWords } from "./axes";

it("words lines of a grid without decimals that say nothing", () => {
  expect(gridWord("bytes", 2 * 1024 ** 3)).toBe("2 GiB");
  expect(gridWord("bytes", 1.5 * 1024 ** 2)).toBe("1.5 MiB");
  expect(gridWord("time_ns", 100_000_000)).toBe("100 ms");
  expect(gridWord("count", 1_000)).toBe("1 000");
});

it("words places by their labels, where they have any", () => {
  expect(labelWords(["4d134bc0", "9e6a55b6"], [0, 0.5, 1])).toEqual(["4d134bc0", "", "9e6a55b6"]);
});

it("words moments in the unit of their distance", () => {
  expect(momentWords([0, 5_000_000, 10_000_000])).toEqual(["0 ms", "5 ms", "10 ms"]);
  expect(momentWords([2_000_000_000, 2_000_500_000])).toEqual(["2000000 us", "2000500 us"]);
});
