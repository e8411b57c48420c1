// What a reader changes in tables and trees, as entries of the address: `sort.ID=-key` (the minus:
// largest first), `find.ID=text`, `cols.ID=a,b`, `node.ID=3`; and the clock, `clock=recorded`.

import { asClock } from "../../components/clocks";
import type { DocumentState, IcicleState, TableState } from "../../components/state";
import type { Query } from "./route";

const UNSORTED = "*";
const ENTRY = /^(sort|find|cols|node)\.(.+)$/;

/** The state of all tables and trees in the address. */
export function readDocumentState(query: Query): DocumentState {
  const tables: Record<string, TableState> = {};
  const icicles: Record<string, IcicleState> = {};
  for (const [key, text] of Object.entries(query)) {
    const [, what, id] = ENTRY.exec(key) ?? [];
    if (!id) continue;
    if (what === "sort") tables[id] = { ...tables[id], sort: readSort(text) };
    if (what === "cols") tables[id] = { ...tables[id], columns: text.split(",") };
    if (what === "node") icicles[id] = { ...icicles[id], node: Number(text) || 0 };
    if (what === "find") {
      // A block of this id exists in one of them only.
      tables[id] = { ...tables[id], search: text };
      icicles[id] = { ...icicles[id], search: text };
    }
  }
  return { tables, icicles, clock: asClock(query.clock) };
}

/** The changed entries of the query; "" removes an entry. */
export function documentStateChanges(before: DocumentState, after: DocumentState): Query {
  const changes: Record<string, string> = {};
  for (const [id, table] of changedEntries(before.tables, after.tables)) {
    changes[`sort.${id}`] = writeSort(table.sort);
    changes[`cols.${id}`] = table.columns?.join(",") ?? "";
    changes[`find.${id}`] = table.search ?? "";
  }
  for (const [id, icicle] of changedEntries(before.icicles, after.icicles)) {
    changes[`node.${id}`] = icicle.node === undefined ? "" : String(icicle.node);
    changes[`find.${id}`] = icicle.search ?? "";
  }
  if (before.clock !== after.clock) changes.clock = after.clock ?? "";
  return changes;
}

/** Whether only a search changed: typing adds no entry to the history. */
export function isOnlySearch(query: Query, changes: Query): boolean {
  return Object.entries(changes).every(
    ([key, text]) => key.startsWith("find.") || text === (query[key] ?? ""),
  );
}

function changedEntries<T>(
  before: Record<string, T> = {},
  after: Record<string, T> = {},
): [string, T][] {
  return Object.entries(after).filter(([id, state]) => state !== before[id]);
}

function readSort(text: string): TableState["sort"] {
  if (text === UNSORTED) return null;
  return { key: text.replace(/^-/, ""), descending: text.startsWith("-") };
}

function writeSort(sort: TableState["sort"]): string {
  if (sort === undefined) return "";
  return sort === null ? UNSORTED : `${sort.descending ? "-" : ""}${sort.key}`;
}
