import { expect, it } from "vitest";
import { clockWord, gridWord, labelWords, momentWords } from "./axes";

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

it("words times of day as clocks do, also on the next day", () => {
  expect(clockWord((14 * 3600 + 3 * 60 + 9.7) * 1e9)).toBe("14:03:09");
  expect(clockWord((24 * 3600 + 61) * 1e9)).toBe("00:01:01");
});
