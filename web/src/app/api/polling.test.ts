// @vitest-environment happy-dom

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { poll } from "./polling";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const setHidden = (hidden: boolean) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
};

test("looks again and again, but not while nobody sees it", async () => {
  const request = vi.fn(async () => true);
  const stop = poll(request, 1000);
  await vi.advanceTimersByTimeAsync(2500);
  expect(request).toHaveBeenCalledTimes(3);
  setHidden(true);
  await vi.advanceTimersByTimeAsync(5000);
  expect(request).toHaveBeenCalledTimes(3);
  setHidden(false);
  await vi.advanceTimersByTimeAsync(1500);
  expect(request).toHaveBeenCalledTimes(5);
  stop();
  await vi.advanceTimersByTimeAsync(5000);
  expect(request).toHaveBeenCalledTimes(5);
});

test("what is over is not looked at again", async () => {
  const request = vi.fn(async () => false);
  const stop = poll(request, 1000);
  await vi.advanceTimersByTimeAsync(3000);
  setHidden(true);
  setHidden(false);
  await vi.advanceTimersByTimeAsync(3000);
  expect(request).toHaveBeenCalledTimes(1);
  stop();
});
