// How wide columns are and where their points stand, from what is in them.

import type { Column } from "../../document/types";
import { worded } from "../../format/format";
import { isNumeric, valueAt } from "./values";

export interface Measures {
  /** In digits; null for the column that takes what room is left. */
  width: number | null;
  /** Decimals of the number that has most. */
  decimals: number;
  /** Letters of the longest unit. */
  unit: number;
  /** What a bar over the whole cell stands for. */
  most: number;
}

const SAMPLE = 400;
const TEXT = { least: 8, most: 32 };
/** Least width of the column that takes what room is left. */
export const WIDE = 26;

/**
 * Measures of the columns shown; the one with the longest texts takes what room is left, in a table
 * as wide as the page (`whole`) in any case.
 */
export function measured(columns: Column[], rows: number, whole: boolean): Measures[] {
  const measures = columns.map((column) => measure(column, rows));
  const widest = measures.reduce(
    (best, { width }, at) =>
      !isNumeric(columns[at] as Column) && (width ?? 0) > (measures[best]?.width ?? 0) ? at : best,
    -1,
  );
  const wide = measures[widest];
  // A table of short words is easier to read along its rows when it is narrow.
  if (wide && (whole || (wide.width ?? 0) >= WIDE)) wide.width = null;
  return measures;
}

function measure(column: Column, rows: number): Measures {
  const words = Array.from({ length: Math.min(rows, SAMPLE) }, (_, row) =>
    worded(column.kind, valueAt(column, row)),
  );
  const longest = (lengths: number[]) => lengths.reduce((most, each) => Math.max(most, each), 0);
  // Letters of a title are narrower than digits; it may take two lines, and has an arrow beside it.
  const title = longest(column.title.split(" ").map((word) => word.length)) * 0.85 + 3;
  if (!isNumeric(column)) {
    const text = Math.min(longest(words.map(({ digits }) => digits.length)) + 2, TEXT.most);
    return { width: Math.max(text, title, TEXT.least), decimals: 0, unit: 0, most: 0 };
  }
  const decimals = longest(words.map(({ digits }) => digits.split(".")[1]?.length ?? 0));
  const unit = longest(words.map((word) => word.unit.length));
  const whole = longest(words.map(({ digits }) => (digits.split(".")[0] ?? "").length));
  const number = whole + (decimals ? decimals + 0.5 : 0) + (unit ? unit + 1 : 0) + 1;
  return { width: Math.max(number, title, 7), decimals, unit, most: mostOf(column) };
}

function mostOf(column: Column): number {
  if (!column.bar || !("values" in column.data)) return 0;
  return column.data.values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
}

/** Decimals a number lacks to have as many as its neighbours, in digits; its point counts for half. */
export function missingDecimals(digits: string, decimals: number): number {
  if (!decimals) return 0;
  const own = digits.split(".")[1]?.length;
  return own === undefined ? decimals + 0.5 : decimals - own;
}
