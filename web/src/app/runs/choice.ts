// Selection of a run, a process, a span and a pair of runs.

import type { Run } from "../api/types";
import { type Query, RUN_PAGES, type RunPage } from "../routing/route";

/** Process and span of the query, or else the first ones. */
export function chosenPart(run: Run, query: Query): { worker: string; span: string } {
  const worker = query.worker || run.workers[0]?.name || "";
  const [first] = [...spansOf(run, worker), ...(run.workers[0]?.spans ?? [])];
  return { worker, span: query.span || first || "" };
}

/** Pages of a run; counters without a trace have the page of kernels only. */
export function pagesOf(run: Run | undefined): readonly RunPage[] {
  if (!run || run.timeline) return RUN_PAGES;
  return run.counters.length > 0 ? ["kernels"] : [];
}

/** Spans of a worker; none where there is no such worker. */
export function spansOf(run: Run, worker: string): string[] {
  return run.workers.find(({ name }) => name === worker)?.spans ?? [];
}

/** Version of a run: changes with its files. */
export function versionOf(run: Run | undefined): string {
  return run ? `${run.bytes}@${run.changed_s}` : "";
}

/** Runs whose names hold every word, in any case. */
export function filterRuns<T extends { name: string }>(runs: readonly T[], text: string): T[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return runs.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
}

export type Order = "name" | "bytes" | "changed_s";

/** Sorted runs: names in natural order (run2 before run10), largest or newest first. */
export function sortRuns(runs: readonly Run[], order: Order): Run[] {
  const byName = (a: Run, b: Run) => a.name.localeCompare(b.name, "en", { numeric: true });
  if (order === "name") return runs.toSorted(byName);
  return runs.toSorted((a, b) => b[order] - a[order] || byName(a, b));
}

/** The pair to compare after a run was selected or deselected: the first is the base. */
export function togglePair(query: Query, run: string): { base: string; new: string } {
  const { base = "", new: second = "" } = query;
  if (run === base) return { base: second, new: "" };
  if (run === second) return { base, new: "" };
  return base ? { base, new: run } : { base: run, new: second };
}

const BASE_NAME = /(?:^|[/_.-])(?:base|baseline|before|main|normal|reference)(?:$|[/_.-])/;

/** A run to compare with: same folder first, then a name such as "base", then a similar name. */
export function suggestedPartner(
  runs: readonly Run[],
  chosen: string,
  role: "base" | "new" = "base",
): string | undefined {
  const folder = folderOf(chosen);
  const rank = (name: string) => [
    commonStart(folderOf(name), folder),
    role === "base" && BASE_NAME.test(name) ? 1 : 0,
    commonStart(name, chosen),
  ];
  return best(otherNames(runs, chosen), rank);
}

/** The run with the longest common prefix with a missing name; none below 3 letters. */
export function mostSimilarName(runs: readonly Run[], name: string): string | undefined {
  const similar = otherNames(runs, name).filter((other) => commonStart(other, name) > 2);
  return best(similar, (other) => [commonStart(other, name)]);
}

function otherNames(runs: readonly Run[], chosen: string): string[] {
  return runs.map(({ name }) => name).filter((name) => name !== chosen);
}

function best(names: string[], rank: (name: string) => number[]): string | undefined {
  const compare = (a: string, b: string) => {
    const [first, second] = [rank(a), rank(b)];
    const at = first.findIndex((value, index) => value !== second[index]);
    return at < 0 ? a.localeCompare(b) : (second[at] ?? 0) - (first[at] ?? 0);
  };
  return names.toSorted(compare)[0];
}

function folderOf(name: string): string {
  return name.slice(0, name.lastIndexOf("/") + 1);
}

function commonStart(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}
