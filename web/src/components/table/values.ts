// Reading the columns of a table block.

import type { Column, Table } from "../../document/types";
import type { RowValues } from "../links";

/** What stands in a row of a column. */
export function valueAt(column: Column, row: number): string | number | null {
  const { data } = column;
  if ("values" in data) return data.values[row] ?? null;
  return data.texts[data.codes[row] ?? -1] ?? null;
}

/** A whole row, for those who make links of it. */
export function rowValues(table: Table, row: number): RowValues {
  return Object.fromEntries(table.columns.map((column) => [column.key, valueAt(column, row)]));
}

/** Whether a column holds numbers; they stand to the right. */
export function isNumeric(column: Column): boolean {
  return "values" in column.data;
}

/** The keys of the columns to show: those asked for, in the order of the table, or the main ones. */
export function visibleKeys(table: Table, requested: string[] | undefined): string[] {
  const all = table.columns.map(({ key }) => key);
  const matching = all.filter((key) => requested?.includes(key));
  if (matching.length) return matching;
  const main = table.columns.filter((column) => column.main).map(({ key }) => key);
  return main.length ? main : all;
}
