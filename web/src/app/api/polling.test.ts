// @vitest-environment happy-dom

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { lookRegularly } from "./polling";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const see = (hidden: boolean) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
};

test("looks again and again, but not while nobody sees it", async () => {
  const look = vi.fn(async () => true);
  const stop = lookRegularly(look, 1000);
  await vi.advanceTimersByTimeAsync(2500);
  expect(look).toHaveBeenCalledTimes(3);
  see(true);
  await vi.advanceTimersByTimeAsync(5000);
  expect(look).toHaveBeenCalledTimes(3);
  see(false);
  await vi.advanceTimersByTimeAsync(1500);
  expect(look).toHaveBeenCalledTimes(5);
  stop();
  await vi.advanceTimersByTimeAsync(5000);
  expect(look).toHaveBeenCalledTimes(5);
});

test("what is over is not looked at again", async () => {
  const look = vi.fn(async () => false);
  const stop = lookRegularly(look, 1000);
  await vi.advanceTimersByTimeAsync(3000);
  see(true);
  see(false);
  await vi.advanceTimersByTimeAsync(3000);
  expect(look).toHaveBeenCalledTimes(1);
  stop();
});
