// Links between pages: from an operator to its kernels, from a kernel to the trace.

import type { Client } from "../api/client";
import { type Links, NO_LINKS, type RowValues, type Side } from "../components/links";
import type { Clock, Link } from "../document/types";
import type { Run, WatchAnswer } from "./api/types";
import { formatRoute, type Query, type RunPage, runHref, updateQuery } from "./routing/route";

const PAGE_OF_SECTION: Readonly<Record<string, RunPage>> = {
  operators: "operators",
  "launch-sites": "operators",
  efficiency: "efficiency",
  kernels: "kernels",
  "kernel-launches": "kernels",
  memory: "memory",
  "memory-curve": "memory",
  "memory-live": "memory",
  "memory-peaks": "memory",
  modules: "modules",
  collectives: "distributed",
  workers: "distributed",
  "collective-statistics": "distributed",
  mismatches: "distributed",
  stragglers: "distributed",
  ranks: "distributed",
  "rank-groups": "distributed",
  trace: "trace",
};
/** Kinds of pieces of the critical path that no table of kernels has. */
const NO_KERNELS = new Set(
  "host|runtime call|data loading|wake up|hand over|memcpy|memset".split("|"),
);
/** Name of what no recorded call covers. */
const OUTSIDE_CALLS = "outside of recorded calls";
/** Range shown on each side of a moment, in nanoseconds. */
const AROUND_NS = 500_000;

/** Links of the pages of a run; times are of `clock`. */
export function linksOfRun(run: string, page: RunPage, query: Query, clock?: Clock): Links {
  const to = (target: RunPage, more: Query) =>
    runHref(run, target, query, clock && more.from ? { ...more, clock } : more);
  const detailsHref = (target: RunPage, open: string, dims: string, find = open) => {
    if (page !== target) return to(target, { [`find.${target}`]: find, open, dims });
    return formatRoute({ at: "run", run, page, query: updateQuery(query, { open, dims }) });
  };
  return {
    hrefOfCell(link, text, row) {
      switch (link) {
        case "operator":
          return detailsHref("operators", text, textOf(row, "input_dims"));
        case "kernel":
          if (NO_KERNELS.has(textOf(row, "kind"))) {
            // A piece of the critical path: calls of the host are on another page, or on none.
            const isOperator = row.kind === "host" && text !== OUTSIDE_CALLS;
            return isOperator ? to("operators", { "find.operators": text }) : null;
          }
          return detailsHref("kernels", fullKernelName(text, row), "", text);
        case "module":
          return to("modules", { "find.modules": text });
        case "worker":
          return runHref(run, "overview", { ...query, worker: text });
        case "moment":
          return to("trace", rangeQuery(Number(text), Number(text) + lengthIn(row)));
        default:
          return null;
      }
    },
    hrefOfLink: (link) => hrefOfLink(link, to),
    hrefOfMoment: NO_LINKS.hrefOfMoment,
    onClock: (other) => linksOfRun(run, page, query, other),
  };
}

/**
 * Links of a comparison: names have none, since they may be of either run; sections are of the new
 * run; moments lead to either timeline, if that run has one process and one span.
 */
export function linksOfComparison(runs: Record<Side, Run>): Links {
  const to = (page: RunPage, more: Query) => runHref(runs.new.name, page, {}, more);
  return {
    ...NO_LINKS,
    hrefOfLink: (link) => hrefOfLink(link, to),
    hrefOfMoment(side, at, name) {
      const { name: run, timeline, workers } = runs[side];
      const isSinglePart = workers.length === 1 && workers[0]?.spans.length === 1;
      // "#" stands for numbers, which the trace has instead.
      const q = name.split("#")[0] as string;
      return timeline && isSinglePart
        ? runHref(run, "trace", {}, { ...rangeQuery(at, at), q })
        : null;
    },
  };
}

/** Links of a watched program: incidents lead to their comparison, or else to their report. */
export function linksOfWatch({ name, incidents }: WatchAnswer, client: Client): Links {
  const reportOf = (incident: string) =>
    incidents[incident]?.report ? client.href("watch/report", { name, incident }) : null;
  return {
    ...NO_LINKS,
    hrefOfCell(link, text, row) {
      if (link === "report") return reportOf(textOf(row, "id"));
      if (link !== "incident") return null;
      const { base, new: second } = incidents[text] ?? {};
      if (!base || !second) return reportOf(text);
      return formatRoute({ at: "compare", query: { base, new: second } });
    },
  };
}

/** State of the trace view that shows a range with a margin. */
export function rangeQuery(from: number, to: number, select?: number): Query {
  const length = to - from;
  const margin = length > 0 ? length * 0.5 : AROUND_NS;
  const digits = (value: number) => String(Math.max(0, Math.round(value)));
  return {
    from: digits(from - margin),
    to: digits(to + margin),
    ...(select !== undefined ? { select: String(select) } : {}),
    ...(select === undefined && length > 0 ? { range: `${digits(from)}-${digits(to)}` } : {}),
  };
}

function hrefOfLink(link: Link, to: (page: RunPage, more: Query) => string): string | null {
  if (link.from_ns !== null)
    return to("trace", rangeQuery(link.from_ns, link.to_ns ?? link.from_ns));
  const page = pageOfSection(link.section);
  return to(page, link.search ? { [`find.${link.section}`]: link.search } : {});
}

/** The page that shows a section of the analysis. */
export function pageOfSection(section: string): RunPage {
  return PAGE_OF_SECTION[section] ?? "overview";
}

/** Kernels are shown by short names; requests need full names. */
function fullKernelName(text: string, row: RowValues): string {
  return row.short_name === text ? textOf(row, "name") || text : text;
}

function textOf(row: RowValues, key: string): string {
  const value = row[key];
  return typeof value === "string" ? value : "";
}

function lengthIn(row: RowValues): number {
  const value = row.dur_ns ?? row.gap_ns ?? row.length_ns ?? row.total_ns;
  return typeof value === "number" ? value : 0;
}
