import { expect, test } from "vitest";
import { documentStateChanges, isOnlySearch, readDocumentState } from "./documentState";
import { updateQuery } from "./route";

test("what a reader changes in tables and trees is read back from the address", () => {
  const state = {
    tables: {
      operators: { sort: { key: "calls", descending: true }, columns: ["name", "calls"] },
      kernels: { sort: null, search: "gemm, sm_90" },
    },
    icicles: { tree: { node: 3 } },
    clock: "recorded" as const,
  };
  const read = readDocumentState(documentStateChanges({}, state));
  expect(read.tables?.operators).toMatchObject(state.tables.operators);
  expect(read.tables?.kernels).toMatchObject(state.tables.kernels);
  expect(read.icicles?.tree).toMatchObject(state.icicles.tree);
  expect(read.clock).toBe("recorded");
});

test("what is taken back leaves the address, other entries stay", () => {
  const query = { worker: "rank0", "find.operators": "conv", "sort.operators": "-calls" };
  const before = readDocumentState(query);
  const after = { ...before, tables: { operators: {} } };
  expect(updateQuery(query, documentStateChanges(before, after))).toEqual({ worker: "rank0" });
});

test("typing a search is told apart from sorting", () => {
  const query = { "sort.operators": "-calls" };
  expect(isOnlySearch(query, { "find.operators": "co", "sort.operators": "-calls" })).toBe(true);
  expect(isOnlySearch(query, { "find.operators": "", "sort.operators": "calls" })).toBe(false);
});
