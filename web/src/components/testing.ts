// Small tables for tests.

import type { Column, Kind, Table } from "../document/types";

type Values = (number | null)[] | (string | null)[];

/** A column of numbers or of texts, by what is in it. */
export function column(
  key: string,
  kind: Kind,
  values: Values,
  more: Partial<Column> = {},
): Column {
  const texts = [...new Set(values.filter((value) => typeof value === "string"))];
  const data =
    kind === "text"
      ? { codes: values.map((value) => texts.indexOf(value as string)), texts }
      : { values: values as (number | null)[] };
  return { key, title: key, kind, help: "", main: true, bar: false, link: "", data, ...more };
}

/** A table of columns. */
export function table(columns: Column[], more: Partial<Table> = {}): Table {
  const data = columns[0]?.data;
  const rows = data ? ("values" in data ? data.values : data.codes).length : 0;
  return {
    type: "table",
    id: "kernels",
    title: "Kernels",
    columns,
    rows,
    total_rows: rows,
    note: "",
    sort: null,
    ...more,
  };
}
