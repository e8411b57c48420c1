import type { Column, Table } from "../../document/types";

/** Sum over the rows of a table with the same name. */
export interface Total {
  name: string;
  calls: number;
  total_ns: number;
  /** The first of the rows, by the keys of the columns. */
  row: Record<string, string | number | null>;
}

/** Totals by name, largest first. */
export function totalsBy(table: Table, key: string): Total[] {
  const totals = new Map<string, Total>();
  for (let index = 0; index < table.rows; index += 1) {
    const row = Object.fromEntries(
      table.columns.map((column) => [column.key, cell(column, index)]),
    );
    const name = String(row[key] ?? "");
    const total = totals.get(name) ?? { name, calls: 0, total_ns: 0, row };
    total.calls += Number(row.calls ?? 0);
    total.total_ns += Number(row.total_ns ?? 0);
    totals.set(name, total);
  }
  return [...totals.values()].sort((a, b) => b.total_ns - a.total_ns);
}

/** The value of a column in a row. */
export function cell({ data }: Column, row: number): string | number | null {
  if ("values" in data) return data.values[row] ?? null;
  return data.texts[data.codes[row] ?? -1] ?? null;
}
