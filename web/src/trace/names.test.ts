import { expect, it } from "vitest";
import { DIM } from "./colours";
import { Names } from "./names";

const measure = (text: string) => 6 * text.length;

function names() {
  const known = new Names();
  known.add({ 2: "aten::linear", 5000: "gemm" });
  return known;
}

it("names are cut to the room there is", () => {
  expect(names().cut(2, 100, measure)).toBe("aten::linear");
  expect(names().cut(2, 40, measure)).toBe("aten:…");
  expect(names().cut(2, 12, measure)).toBe("");
});

it("kernels carry their short names, and are found by the whole", () => {
  const known = names();
  known.add({ 7: "void at::native::fill<float>(int)" }, { 7: "fill" });
  expect(known.cut(7, 100, measure)).toBe("fill");
  known.search("float");
  expect(known.colour("device", 7)).not.toBe(DIM);
});

it("a search dims what it does not find, until it ends", () => {
  const known = names();
  const before = known.colour("host", 2);
  known.search("GEMM");
  expect(known.colour("host", 2)).toBe(DIM);
  expect(known.colour("host", 5000)).not.toBe(DIM);
  known.search("");
  expect(known.colour("host", 2)).toBe(before);
});
