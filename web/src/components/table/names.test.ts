import { expect, it } from "vitest";
import { splitName } from "./names";

it("leaves short names whole", () => {
  expect(splitName("aten::convolution_backward")).toEqual(["aten::convolution_backward", ""]);
});

it("keeps the end of a long name, from where a word of it begins", () => {
  const name = "void at::native::vectorized_elementwise_kernel<4, FillFunctor<float>>";
  const [head, tail] = splitName(name);
  expect(head + tail).toBe(name);
  expect(tail).toBe("<float>>");
});

it("cuts a name without words in it", () => {
  const [, tail] = splitName("x".repeat(60));
  expect(tail).toHaveLength(6);
});

it("does not cut a letter in two", () => {
  const [head, tail] = splitName("😀".repeat(30).concat("1"));
  expect([...head, ...tail].join("")).toBe("😀".repeat(30).concat("1"));
  expect(head + tail).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])/);
  expect(tail).toMatch(/^😀/u);
});
