// How wide columns are and where their points stand, from what is in them.

import type { Column } from "../../document/types";
import { formatParts } from "../../format/format";
import { widthOf } from "./names";
import { isNumeric, valueAt } from "./values";

export interface Measures {
  /** In digits; what a column has at least where it `grows`. */
  width: number;
  /** What part of the room that is left a column takes; 0 for none. */
  grows: number;
  /** Decimals of the number that has most. */
  decimals: number;
  /** Letters of the longest unit. */
  unit: number;
  /** What a bar over the whole cell stands for. */
  max: number;
}

const SAMPLE = 400;
/** Widths of texts: what all have, what is kept of long ones, and what most of them can use. */
const TEXT = { least: 6, kept: 20, most: 64 };

/**
 * Measures of the columns shown; columns of long texts share what room is left as they need it.  In a
 * table as wide as the page (`whole`) the longest text takes it in any case.
 */
export function columnMeasures(columns: Column[], rows: number, fillsPage: boolean): Measures[] {
  const measures = columns.map((column) => measure(column, rows));
  const growth = measures.reduce((sum, { grows }) => sum + grows, 0);
  if (growth > 0) return measures.map((column) => ({ ...column, grows: column.grows / growth }));
  // A table of short words is easier to read along its rows when it is narrow.
  const longest = fillsPage ? longestText(columns, measures) : -1;
  return measures.map((column, at) => ({ ...column, grows: at === longest ? 1 : 0 }));
}

function longestText(columns: Column[], measures: Measures[]): number {
  const widths = measures.map(({ width }, at) => (isNumeric(columns[at] as Column) ? 0 : width));
  const max = Math.max(...widths);
  return max > 0 ? widths.indexOf(max) : -1;
}

function measure(column: Column, rows: number): Measures {
  const words = Array.from({ length: Math.min(rows, SAMPLE) }, (_, row) =>
    formatParts(column.kind, valueAt(column, row)),
  );
  const longest = (lengths: number[]) => lengths.reduce((max, length) => Math.max(max, length), 0);
  // A title may take two lines; bold letters are wider, and an arrow stands beside them.
  const title = longest(column.title.split(" ").map(widthOf)) + 2.5;
  if (!isNumeric(column)) {
    const text = usual(words.map(({ digits }) => widthOf(digits))) + 1;
    const width = Math.max(Math.min(text, TEXT.kept), title, TEXT.least);
    const grows = Math.max(Math.min(text, TEXT.most) - width, 0);
    return { width, grows, decimals: 0, unit: 0, max: 0 };
  }
  const decimals = longest(words.map(({ digits }) => digits.split(".")[1]?.length ?? 0));
  const unit = longest(words.map((word) => word.unit.length));
  const integerDigits = longest(words.map(({ digits }) => (digits.split(".")[0] ?? "").length));
  const number =
    integerDigits +
    Number(column.signed ?? false) +
    (decimals ? decimals + 0.5 : 0) +
    (unit ? unit + 1 : 0) +
    0.5;
  const width = Math.max(number, title, column.bar ? 8 : 5);
  return { width, grows: 0, decimals, unit, max: mostOf(column) };
}

/** What nearly all texts have room in: single long ones give way. */
function usual(widths: number[]): number {
  const sorted = widths.toSorted((left, right) => left - right);
  const max = sorted.at(-1) ?? 0;
  return max <= TEXT.kept ? max : (sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0);
}

function mostOf(column: Column): number {
  if (!column.bar || !("values" in column.data)) return 0;
  return column.data.values.reduce<number>((max, value) => Math.max(max, value ?? 0), 0);
}

/** Decimals a number lacks to have as many as its neighbours, in digits; its point counts for half. */
export function missingDecimals(digits: string, decimals: number): number {
  if (!decimals) return 0;
  const present = digits.split(".")[1]?.length;
  return present === undefined ? decimals + 0.5 : decimals - present;
}
