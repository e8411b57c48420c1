import { expect, it } from "vitest";
import { commandOf } from "./keys";

const pressed = (key: string, more = {}) =>
  commandOf({ key, ctrlKey: false, metaKey: false, altKey: false, ...more });

it("keys work in both cases", () => {
  expect(pressed("w")).toBe("zoom in");
  expect(pressed("W")).toBe("zoom in");
  expect(pressed("/")).toBe("search");
  expect(pressed("ArrowUp")).toBe("outer");
});

it("what belongs to the browser stays its own", () => {
  expect(pressed("f", { ctrlKey: true })).toBeNull();
  expect(pressed("a", { metaKey: true })).toBeNull();
  expect(pressed("Tab")).toBeNull();
});
