import { expect, test } from "vitest";
import { ago } from "./ago";

const NOW = Date.UTC(2026, 10, 15) / 1000;

test.each([
  [5, "just now"],
  [-3, "just now"],
  [90, "1 min ago"],
  [7200, "2 h ago"],
  [3 * 86_400, "3 d ago"],
  [30 * 86_400, "2026-10-16"],
])("%d seconds ago: %s", (past, words) => {
  expect(ago(NOW - past, NOW)).toBe(words);
});
