import { expect, it } from "vitest";
import { firstSentence } from "./sentences";

it("parts the first sentence from the rest", () => {
  expect(firstSentence("Cycles take 23.0 % longer than before. First cause: gpu_clock.")).toEqual([
    "Cycles take 23.0 % longer than before.",
    "First cause: gpu_clock.",
  ]);
});

it("does not stop after a word, nor at a number", () => {
  const text = "Regression. Cycles take 1.5 times as long";
  expect(firstSentence(text)).toEqual([text, ""]);
});
