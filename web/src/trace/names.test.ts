import { expect, it } from "vitest";
import { DIM } from "./colours";
import { Names } from "./names";

const measure = (text: string) => 6 * text.length;

function exampleNames() {
  const names = new Names();
  names.add({ 2: "aten::linear", 5000: "gemm" });
  return names;
}

it("names are cut to the room there is", () => {
  expect(exampleNames().truncate(2, 100, measure)).toBe("aten::linear");
  expect(exampleNames().truncate(2, 40, measure)).toBe("aten:…");
  expect(exampleNames().truncate(2, 12, measure)).toBe("");
});

it("kernels carry their short names, and are found by the whole", () => {
  const names = exampleNames();
  names.add({ 7: "void at::native::fill<float>(int)" }, { 7: "fill" });
  expect(names.truncate(7, 100, measure)).toBe("fill");
  names.search("float");
  expect(names.colour("device", 7)).not.toBe(DIM);
});

it("a search dims what it does not find, until it ends", () => {
  const names = exampleNames();
  const before = names.colour("host", 2);
  names.search("GEMM");
  expect(names.colour("host", 2)).toBe(DIM);
  expect(names.colour("host", 5000)).not.toBe(DIM);
  names.search("");
  expect(names.colour("host", 2)).toBe(before);
});
