import { expect, test } from "vitest";
import { Cache } from "./cache";

test("what was used last stays", () => {
  const cache = new Cache(2);
  cache.set("a", 1);
  cache.set("b", 2);
  cache.get("a");
  cache.set("c", 3);
  expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual([1, undefined, 3]);
});
