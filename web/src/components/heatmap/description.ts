// The heat map in words and as a table, for those who do not see it.

import type { Column, Heatmap, Table } from "../../document/types";
import { format } from "../../format/format";
import { type Cell, worstCells } from "./layout";

const MAX_ROWS = 50;

/** One cell: where it is and what it holds. */
export function cellText(block: Heatmap, cell: Cell): { place: string; value: string } {
  const row = block.rows[cell.row];
  const place = `${block.row_title} ${row?.name ?? ""}, ${block.column_title} ${block.columns[cell.column] ?? ""}`;
  const value = row?.values[cell.column] ?? null;
  const text =
    value === null ? "not recorded" : `${block.value_title} ${format(block.kind, value)}`;
  return { place, value: text };
}

/** What the map shows, in a sentence. */
export function summary(block: Heatmap): string {
  const size = `${block.rows.length} rows (${block.row_title}) by ${block.columns.length} columns (${block.column_title})`;
  const [worst] = worstCells(block, 1);
  if (!worst) return `${size}, all empty.`;
  const { place, value } = cellText(block, worst);
  return `${size}; the largest is at ${place}: ${value}.`;
}

/** The largest cells as a table. */
export function heatTable(block: Heatmap): Table {
  const cells = worstCells(block, MAX_ROWS);
  const texts = (values: string[]): Column["data"] => {
    const distinct = [...new Set(values)];
    return { codes: values.map((value) => distinct.indexOf(value)), texts: distinct };
  };
  const rows = cells.map(({ row }) => block.rows[row]);
  const column = (key: string, title: string, data: Column["data"]): Column => ({
    key,
    title,
    kind: "text",
    help: "",
    main: true,
    bar: false,
    link: "",
    data,
  });
  const columns = [
    column("row", block.row_title, texts(rows.map((row) => row?.name ?? ""))),
    column(
      "column",
      block.column_title,
      texts(cells.map((cell) => block.columns[cell.column] ?? "")),
    ),
    {
      ...column("value", block.value_title, {
        values: cells.map(({ row, column }) => block.rows[row]?.values[column] ?? null),
      }),
      kind: block.kind,
      bar: true,
    },
    column("about", "about", texts(rows.map((row) => row?.about ?? ""))),
  ];
  const visible = columns.filter(({ key }) => key !== "about" || rows.some((row) => row?.about));
  const all = block.rows.reduce((sum, { values }) => sum + values.filter(Boolean).length, 0);
  return {
    type: "table",
    id: `${block.id}-cells`,
    title: `${block.title}: the largest cells`,
    columns: visible,
    rows: cells.length,
    total_rows: all,
    note: "",
    sort: { key: "value", descending: true },
  };
}
