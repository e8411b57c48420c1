import { expect, it } from "vitest";
import { commandOf } from "./keys";

const commandFor = (key: string, more = {}) =>
  commandOf({ key, ctrlKey: false, metaKey: false, altKey: false, ...more });

it("keys work in both cases", () => {
  expect(commandFor("w")).toBe("zoom in");
  expect(commandFor("W")).toBe("zoom in");
  expect(commandFor("/")).toBe("search");
  expect(commandFor("ArrowUp")).toBe("outer");
});

it("what belongs to the browser stays its own", () => {
  expect(commandFor("f", { ctrlKey: true })).toBeNull();
  expect(commandFor("a", { metaKey: true })).toBeNull();
  expect(commandFor("Tab")).toBeNull();
});
