// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keepPlace, restorePlace } from "./frame";

const frame = () => vi.stubGlobal("parent", {});

beforeEach(() => {
  sessionStorage.clear();
  history.replaceState(null, "", "/");
});
afterEach(() => vi.unstubAllGlobals());

test("a reload of the page around a frame leads back to the same place", () => {
  frame();
  keepPlace("#/run/a%20b/kernels?open=x");
  restorePlace();
  expect(location.hash).toBe("#/run/a%20b/kernels?open=x");
});

test("an address that names a place wins", () => {
  frame();
  keepPlace("#/run/a/kernels");
  location.hash = "#/compare";
  restorePlace();
  expect(location.hash).toBe("#/compare");
});

test("outside of a frame nothing is kept: the address says it", () => {
  keepPlace("#/run/a/kernels");
  frame();
  restorePlace();
  expect(location.hash).toBe("");
});
