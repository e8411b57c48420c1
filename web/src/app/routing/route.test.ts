import { describe, expect, test } from "vitest";
import { formatRoute, parseRoute, placeOf, type Route, runHref, updateQuery } from "./route";
import { titleOf } from "./title";

describe("addresses", () => {
  test.each<Route>([
    { at: "home", query: {} },
    { at: "home", query: { q: "resnet 50", base: "a/b" } },
    { at: "compare", query: { base: "faults/normal", new: "faults/gpu_clock" } },
    {
      at: "run",
      run: "faults/normal",
      page: "operators",
      query: { worker: "rank 0", q: "aten::&" },
    },
    { at: "history", name: "main", query: {} },
    { at: "watch", name: "jobs/serving", query: {} },
    { at: "run", run: "100% #1?", page: "trace", query: { from: "0", to: "1500", select: "17" } },
  ])("are read back as they were written: %j", (route) => {
    expect(parseRoute(formatRoute(route))).toEqual(route);
  });

  test("of a run without a page lead to its overview", () => {
    expect(parseRoute("#/run/base")).toMatchObject({ run: "base", page: "overview" });
  });

  test("may spell the slashes of a run's name as they are", () => {
    expect(parseRoute("#/run/faults/normal/memory")).toMatchObject({
      run: "faults/normal",
      page: "memory",
    });
  });

  test.each(["", "#", "#/"])("without a place are the list of runs: %j", (hash) => {
    expect(parseRoute(hash).at).toBe("home");
  });

  test.each(["#/runs", "#/run", "#/run/base/nonsense", "#/run/%E0%A4%A/overview", "#/compare/a"])(
    "that lead nowhere are said to be unknown: %s",
    (hash) => {
      expect(parseRoute(hash).at).toBe("unknown");
    },
  );
});

test("a link to another page keeps worker and span and drops the rest", () => {
  const query = { worker: "rank0", span: "2", q: "conv", open: "aten::conv2d" };
  expect(runHref("base", "kernels", query, { q: "gemm" })).toBe(
    "#/run/base/kernels?worker=rank0&span=2&q=gemm",
  );
});

test("state that is cleared leaves the address", () => {
  expect(updateQuery({ q: "conv", sort: "calls" }, { q: "", group: "shape" })).toEqual({
    sort: "calls",
    group: "shape",
  });
});

test("a search does not make another page, a tab does", () => {
  const place = (hash: string) => placeOf(parseRoute(hash));
  expect(place("#/run/a/kernels?q=gemm")).toBe(place("#/run/a/kernels"));
  expect(place("#/run/a/memory")).not.toBe(place("#/run/a/kernels"));
});

test.each([
  ["#/", "Runs · timesink"],
  ["#/run/faults%2Fnormal/kernels?open=gemm", "Kernels · faults/normal · timesink"],
  ["#/compare?base=a&new=b", "a → b · timesink"],
  ["#/compare?ab=runs%2Fpr", "runs/pr · timesink"],
  ["#/history/main", "@main · timesink"],
  ["#/nonsense", "Page not found · timesink"],
])("the title of the window says where one is: %s", (hash, title) => {
  expect(titleOf(parseRoute(hash))).toBe(title);
});
