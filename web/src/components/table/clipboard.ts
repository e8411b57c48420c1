// A table as text that spreadsheets understand.

import type { Column, Kind, Table } from "../../document/types";
import { format } from "../../format/format";
import { valueAt } from "./values";

const UNIT: Partial<Record<Kind, string>> = {
  time_ns: "ns",
  moment_ns: "ns",
  bytes: "bytes",
  bytes_per_s: "bytes/s",
  percent: "%",
};

/** Titles with units, then a line per row; numbers are exact. */
export function toTsv(columns: Column[], rows: number[]): string {
  const titles = columns.map(({ title, kind }) => {
    const unit = UNIT[kind];
    return cell(unit ? `${title} (${unit})` : title);
  });
  const lines = rows.map((row) => columns.map((column) => cell(valueAt(column, row))).join("\t"));
  return `${[titles.join("\t"), ...lines].join("\n")}\n`;
}

function cell(value: string | number | null): string {
  // A tab or a line break would begin a new cell.
  return value === null ? "" : String(value).replace(/[\t\r\n]+/g, " ");
}

/** Puts text into the clipboard; also where a page from disk may not ask for it. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

/** How many rows there are, match and are shown, in words. */
export function rowCountText(block: Table, matching: number, visible: number): string {
  const { rows, total_rows: all } = block;
  const count = (value: number) => format("count", value);
  const clauses: string[] = [];
  if (matching < rows) {
    clauses.push(`${count(matching)} of ${count(rows)} rows match`);
    if (rows < all) clauses.push(`${count(all - rows)} more not included`);
  } else if (rows < all) clauses.push(`first ${count(rows)} of ${count(all)} rows`);
  else clauses.push(`${count(rows)} ${rows === 1 ? "row" : "rows"}`);
  if (visible < matching) clauses.push(`first ${count(visible)} shown`);
  return clauses.join("; ");
}
