import { expect, test } from "vitest";
import { framesOf } from "./frames";

test("a stack is told by functions and where they are, the innermost first", () => {
  const stack = "/lib/python3/torch/nn/conv.py(440): _conv_forward;train.py(46): <module>";
  expect(framesOf(stack).map(({ name, place }) => [name, place])).toEqual([
    ["_conv_forward", "nn/conv.py:440"],
    ["<module>", "train.py:46"],
  ]);
});

test("what is written otherwise is shown as it is", () => {
  expect(framesOf("<built-in method f>\nmain")).toMatchObject([
    { name: "<built-in method f>", place: "" },
    { name: "main", place: "" },
  ]);
  expect(framesOf(null)).toEqual([]);
});
