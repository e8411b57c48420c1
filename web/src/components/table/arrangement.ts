// Which rows and columns are shown and in which order, by TanStack Table.

import {
  columnFilteringFeature,
  columnVisibilityFeature,
  constructTable,
  createFilteredRowModel,
  createSortedRowModel,
  rowSortingFeature,
  tableFeatures,
} from "@tanstack/table-core";
import { storeReactivityBindings } from "@tanstack/table-core/store-reactivity-bindings";
import type { Column, Table } from "../../document/types";
import type { TableState } from "../state";
import { type Query, readQuery, rowMatches } from "./search";
import { valueAt, visibleKeys } from "./values";

const FEATURES = tableFeatures({
  coreReactivityFeature: storeReactivityBindings(),
  columnFilteringFeature,
  columnVisibilityFeature,
  rowSortingFeature,
  filteredRowModel: createFilteredRowModel(),
  sortedRowModel: createSortedRowModel(),
});

/** Column without cells, whose filter sees all of a row. */
const ROW_FILTER = "*row";

type Row = { at: number };
type Value = string | number | undefined;

/** Arranges a table for a state; its columns are read once. */
export type Arranger = (state: TableState) => Arrangement;

export interface Arrangement {
  columns: Column[];
  /** Indices into the columns. */
  rows: number[];
  query: Query;
  sort: { key: string; descending: boolean } | null;
}

/** Prepares a block for sorting, searching and choosing columns. */
export function createArranger(block: Table): Arranger {
  const table = constructTable({
    features: FEATURES,
    data: Array.from({ length: block.rows }, (_, at): Row => ({ at })),
    columns: [...block.columns.map(sortable), searchable(block)],
  });
  return (state) => {
    const sort = state.sort === undefined ? block.sort : state.sort;
    const query = readQuery(block, state.search ?? "", sort?.key);
    const visibleKeySet = new Set(visibleKeys(block, state.columns));
    table.setSorting(sort ? [{ id: sort.key, desc: sort.descending }] : []);
    const isSearch = query.words.length > 0 || query.conditions.length > 0;
    table.setColumnFilters(isSearch ? [{ id: ROW_FILTER, value: query }] : []);
    table.setColumnVisibility(
      Object.fromEntries(block.columns.map(({ key }) => [key, visibleKeySet.has(key)])),
    );
    const visible = new Set(table.getVisibleLeafColumns().map(({ id }) => id));
    return {
      columns: block.columns.filter(({ key }) => visible.has(key)),
      rows: table.getRowModel().rows.map((row) => row.original.at),
      query,
      sort,
    };
  };
}

function sortable(column: Column) {
  const rankOf = sortRank(column);
  return {
    id: column.key,
    // What is missing is undefined to TanStack, which then puts it last either way.
    accessorFn: (row: Row): Value => valueAt(column, row.at) ?? undefined,
    sortFn: (left: { original: Row }, right: { original: Row }) =>
      rankOf(left.original.at) - rankOf(right.original.at),
    sortUndefined: "last" as const,
  };
}

/** A number for each row to sort by: its own, or the place of its text among the texts. */
function sortRank({ data }: Column): (row: number) => number {
  if ("values" in data) return (row) => data.values[row] ?? 0;
  let places: Map<number, number> | undefined;
  return (row) => {
    places ??= placesOf(data.texts);
    return places.get(data.codes[row] ?? -1) ?? 0;
  };
}

/** Each text's place in the alphabet of all: comparing them once per text, not per row. */
function placesOf(texts: string[]): Map<number, number> {
  const { compare } = new Intl.Collator("en", { numeric: true });
  const codes = texts.map((_, code) => code);
  codes.sort((left, right) => compare(texts[left] ?? "", texts[right] ?? ""));
  return new Map(codes.map((code, place) => [code, place]));
}

function searchable(block: Table) {
  return {
    id: ROW_FILTER,
    accessorFn: (row: Row): Value => row.at,
    filterFn: (row: { original: Row }, _: string, query: Query) =>
      rowMatches(block, row.original.at, query),
  };
}

/** The order after a click on a column: largest first for numbers, then the other way, then as it was. */
export function nextSort(
  block: Table,
  column: Column,
  sort: { key: string; descending: boolean } | null,
): TableState["sort"] {
  const first = "values" in column.data;
  if (sort?.key !== column.key) return { key: column.key, descending: first };
  if (sort.descending === first) return { key: column.key, descending: !first };
  return block.sort?.key === column.key ? { key: column.key, descending: first } : undefined;
}
