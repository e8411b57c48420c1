import { describe, expect, test } from "vitest";
import type { Run } from "../api/types";
import {
  chosenPart,
  filterRuns,
  mostSimilarName,
  pagesOf,
  sortRuns,
  suggestedPartner,
  togglePair,
  versionOf,
} from "./choice";
import { withAnswer } from "./useRuns";

const run = (name: string, more: Partial<Run> = {}): Run => ({
  name,
  workers: [
    { name: "rank0", spans: ["1", "2"] },
    { name: "rank1", spans: ["5"] },
  ],
  bytes: 1,
  changed_s: 1,
  growing: false,
  timeline: true,
  behaviour: false,
  counters: [],
  ...more,
});
const names = (runs: Run[]) => runs.map(({ name }) => name);

describe("the part of a run that is shown", () => {
  test("is the first span of the first worker", () => {
    expect(chosenPart(run("a"), {})).toEqual({ worker: "rank0", span: "1" });
  });
  test("is the first span of the worker asked for", () => {
    expect(chosenPart(run("a"), { worker: "rank1" })).toEqual({ worker: "rank1", span: "5" });
  });
  test("of a worker that is not there has a span all the same: the server says what is missing", () => {
    expect(chosenPart(run("a"), { worker: "rank9" })).toEqual({ worker: "rank9", span: "1" });
  });
  test("is what the address says, even if there is no such span", () => {
    const query = { worker: "rank9", span: "7" };
    expect(chosenPart(run("a"), query)).toEqual(query);
  });
});

describe("the list of runs", () => {
  test("is filtered by words in any order", () => {
    expect(names(filterRuns([run("faults/normal"), run("faults/gpu")], "GPU fau"))).toEqual([
      "faults/gpu",
    ]);
  });
  test("counts as people do", () => {
    expect(names(sortRuns([run("run10"), run("run2")], "name"))).toEqual(["run2", "run10"]);
  });
  test("has the newest first", () => {
    const runs = [run("old", { changed_s: 1 }), run("new", { changed_s: 9 })];
    expect(names(sortRuns(runs, "changed_s"))).toEqual(["new", "old"]);
  });
});

describe("a pair to compare", () => {
  test("begins with the base", () => {
    expect(togglePair({}, "a")).toEqual({ base: "a", new: "" });
    expect(togglePair({ base: "a" }, "b")).toEqual({ base: "a", new: "b" });
  });
  test("changes its second run when a third is marked", () => {
    expect(togglePair({ base: "a", new: "b" }, "c")).toEqual({ base: "a", new: "c" });
  });
  test("keeps the other run when one is unmarked", () => {
    expect(togglePair({ base: "a", new: "b" }, "a")).toEqual({ base: "b", new: "" });
    expect(togglePair({ base: "a", new: "b" }, "b")).toEqual({ base: "a", new: "" });
  });
  test("is suggested from the same folder, a base by its name", () => {
    const runs = ["base", "faults/gpu_clock", "faults/gpu_contention", "faults/normal"].map(
      (name) => run(name),
    );
    expect(suggestedPartner(runs, "faults/gpu_clock")).toBe("faults/normal");
    expect(suggestedPartner(runs, "faults/gpu_clock", "new")).toBe("faults/gpu_contention");
    expect(suggestedPartner([run("a")], "a")).toBeUndefined();
  });
});

test("a run that is not there is taken for one of a like name, if there is one", () => {
  const runs = [run("resnet50"), run("zoo")];
  expect(mostSimilarName(runs, "resnet18")).toBe("resnet50");
  expect(mostSimilarName(runs, "bert")).toBeUndefined();
});

test("a run of counters alone has no pages of a timeline", () => {
  const counters = ["ncu.csv"];
  expect(pagesOf(run("a", { timeline: false, counters }))).toEqual(["kernels"]);
  expect(pagesOf(run("a", { counters }))).toContain("trace");
});

test("a run that grew is another version", () => {
  expect(versionOf(run("a", { bytes: 2 }))).not.toBe(versionOf(run("a")));
});

describe("looking for runs", () => {
  const answer = (generation: string) => ({
    logdir: "/runs",
    version: "1",
    generation,
    runs: [],
    ab: [],
    watches: [],
    histories: [],
  });
  const state = withAnswer({ listing: undefined, error: null, reconnections: 0 }, answer("1"));

  test("changes nothing while the server has nothing new", () => {
    expect(withAnswer(state, answer("1"))).toBe(state);
    expect(withAnswer(state, answer("2")).listing?.generation).toBe("2");
  });
  test("notices that the server is back", () => {
    const lost = { ...state, error: { status: 0 } as never };
    expect(withAnswer(lost, answer("1"))).toEqual({ ...state, reconnections: 1 });
  });
});
