import { expect, it } from "vitest";
import { readState, type TraceState, writeState } from "./state";

it("what is written is read again", () => {
  const state: TraceState = {
    from: 1000,
    to: 2000,
    select: 0,
    q: "gemm & co",
    range: [5, 70],
    collapsed: ["GPU 0 | 50%", "#7"],
    deep: [4, 11],
    clock: "own",
    path: 1,
    recording: 0,
  };
  expect(readState(writeState(state))).toEqual(state);
});

it("what makes no sense is left out", () => {
  const entries = {
    from: "9",
    to: "3",
    select: "-1",
    range: "x-5",
    q: "",
    collapsed: "",
    deep: "4-x",
    clock: "theirs",
    path: "yes",
    recording: "1",
  };
  expect(readState(entries)).toEqual({});
});

it("a key that is to vanish is empty", () => {
  expect(writeState({ range: undefined })).toEqual({ range: "" });
});
