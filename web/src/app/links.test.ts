import { describe, expect, test } from "vitest";
import { createClient } from "../api/client";
import type { Links } from "../components/links";
import type { Link } from "../document/types";
import type { Run } from "./api/types";
import { linksOfComparison, linksOfRun, linksOfWatch, pageOfSection, rangeQuery } from "./links";
import { parseRoute } from "./routing/route";

const query = { worker: "rank0", span: "1", "sort.operators": "-calls" };
const onOperators = linksOfRun("base", "operators", query);
const onMemory = linksOfRun("base", "memory", query);
const link = (more: Partial<Link>): Link => ({
  label: "",
  section: "kernels",
  search: "",
  from_ns: null,
  to_ns: null,
  ...more,
});
const routeOf = (href: string | null) => parseRoute(href ?? "");

test("moments of a clock are shown on that clock", () => {
  const moment = (links: Links) => links.hrefOfCell("moment", "5000", { dur_ns: 100 });
  expect(routeOf(moment(onMemory)).query).toMatchObject({ from: "4950", worker: "rank0" });
  expect(routeOf(moment(onMemory)).query.clock).toBeUndefined();
  const reload = onMemory.onClock?.("own") as Links;
  expect(routeOf(moment(reload)).query).toMatchObject({ from: "4950", clock: "own" });
  expect(routeOf(reload.hrefOfCell("module", "norm", {})).query.clock).toBeUndefined();
});

test("an incident leads to its comparison, else to its report, and a report to itself", () => {
  const pair = { base: "a/incidents/1/base", new: "a/incidents/1/new" };
  const incidents = {
    "1": { report: true, ...pair },
    "2": { report: true },
    "3": { report: false },
  };
  const answer = { name: "a", state: "alarm", gone: false, incidents, document: {} as never };
  const links = linksOfWatch(answer, createClient(new URL("http://here/")));
  const query = (id: string) => `http://here/api/watch/report?name=a&incident=${id}`;
  expect(routeOf(links.hrefOfCell("incident", "1", {}))).toEqual({ at: "compare", query: pair });
  expect(links.hrefOfCell("incident", "2", {})).toBe(query("2"));
  expect(links.hrefOfCell("incident", "3", {})).toBeNull();
  expect(links.hrefOfCell("report", "report", { id: "1" })).toBe(query("1"));
});

describe("an operator", () => {
  test("opens on its own page beside what is set there", () => {
    expect(routeOf(onOperators.hrefOfCell("operator", "aten::mm", {}))).toMatchObject({
      page: "operators",
      query: { ...query, open: "aten::mm" },
    });
  });
  test("is searched for from other pages, with the worker kept", () => {
    expect(routeOf(onMemory.hrefOfCell("operator", "aten::mm", { input_dims: "[2, 3]" }))).toEqual({
      at: "run",
      run: "base",
      page: "operators",
      query: {
        worker: "rank0",
        span: "1",
        "find.operators": "aten::mm",
        open: "aten::mm",
        dims: "[2, 3]",
      },
    });
  });
});

test("a kernel is looked for by the name shown and opened by its whole name", () => {
  const row = { short_name: "gemm", name: "void gemm<float, 128>(float*)" };
  expect(routeOf(onOperators.hrefOfCell("kernel", "gemm", row))).toMatchObject({
    page: "kernels",
    query: { "find.kernels": "gemm", open: row.name },
  });
});

test("a piece of the critical path leads to the page that has its name", () => {
  const hrefOf = (kind: string, text: string) =>
    onOperators.hrefOfCell("kernel", text, { kind, short_name: text, name: text });
  expect(routeOf(hrefOf("kernel", "gemm"))).toMatchObject({ page: "kernels" });
  expect(routeOf(hrefOf("host", "aten::mm"))).toMatchObject({
    page: "operators",
    query: { "find.operators": "aten::mm" },
  });
  expect(hrefOf("host", "outside of recorded calls")).toBeNull();
  expect(hrefOf("runtime call", "cudaLaunchKernel")).toBeNull();
});

test("a worker keeps the span", () => {
  expect(routeOf(onMemory.hrefOfCell("worker", "rank3", {}))).toMatchObject({
    page: "overview",
    query: { worker: "rank3", span: "1" },
  });
});

describe("a moment", () => {
  test("with a length is marked in the trace, with surroundings", () => {
    expect(routeOf(onMemory.hrefOfCell("moment", "1000", { dur_ns: 200 }))).toMatchObject({
      page: "trace",
      query: { from: "900", to: "1300", range: "1000-1200" },
    });
  });
  test("without one is in the middle of what is shown, never before the start", () => {
    expect(rangeQuery(100_000, 100_000)).toEqual({ from: "0", to: "600000" });
  });
});

describe("a link of a finding", () => {
  test("with a place leads to the trace", () => {
    const href = onMemory.hrefOfLink(link({ from_ns: 10, to_ns: 20 }));
    expect(routeOf(href)).toMatchObject({ page: "trace", query: { range: "10-20" } });
  });
  test("with a name leads to the page that has it", () => {
    const href = onMemory.hrefOfLink(link({ section: "kernel-launches", search: "gemm" }));
    expect(routeOf(href)).toMatchObject({
      page: "kernels",
      query: { "find.kernel-launches": "gemm" },
    });
  });
  test("to anything else leads to the overview", () => {
    expect(pageOfSection("steps")).toBe("overview");
  });
});

describe("a moment of a comparison", () => {
  const run = (name: string, workers: string[]): Run => ({
    name,
    workers: workers.map((worker) => ({ name: worker, spans: ["1"] })),
    bytes: 0,
    changed_s: 0,
    growing: false,
    timeline: true,
    behaviour: false,
    counters: [],
  });
  const links = linksOfComparison({ base: run("a", ["rank0"]), new: run("b", ["rank0", "rank1"]) });
  test("leads to the timeline of its side, with the name looked for", () => {
    expect(routeOf(links.hrefOfMoment("base", 2_000_000, "step #"))).toMatchObject({
      run: "a",
      page: "trace",
      query: { q: "step ", from: "1500000", to: "2500000" },
    });
  });
  test("leads nowhere where a side has several timelines", () => {
    expect(links.hrefOfMoment("new", 2_000_000, "step")).toBeNull();
  });
});
