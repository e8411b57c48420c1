// The search of a table: words that must all be found, and conditions such as `calls>100 device>1ms`.

import type { Column, Table } from "../../document/types";
import { parse } from "../../format/format";
import { isNumeric, valueAt } from "./values";

export interface Query {
  /** In small letters. */
  words: string[];
  conditions: Condition[];
}

export interface Condition {
  column: Column;
  operator: Operator;
  value: number;
}

type Operator = ">" | ">=" | "<" | "<=" | "=";

const HOLDS: Record<Operator, (left: number, right: number) => boolean> = {
  ">": (left, right) => left > right,
  ">=": (left, right) => left >= right,
  "<": (left, right) => left < right,
  "<=": (left, right) => left <= right,
  "=": (left, right) => left === right,
};

/** Reads a search; `>10us` without a name is about the column the table is sorted by. */
export function readQuery(table: Table, text: string, sortedBy: string | undefined): Query {
  const query: Query = { words: [], conditions: [] };
  for (const token of text.split(/\s+/).filter(Boolean)) {
    const condition = readCondition(table, token, sortedBy);
    if (condition) query.conditions.push(condition);
    else query.words.push(token.toLowerCase());
  }
  return query;
}

function readCondition(
  table: Table,
  token: string,
  sortedBy: string | undefined,
): Condition | null {
  const match = /^([\w-]*)(>=|<=|>|<|=)(.+)$/.exec(token);
  if (!match) return null;
  const [, name = "", operator, number = ""] = match;
  const column = name
    ? columnNamed(table, name)
    : table.columns.find(({ key }) => key === sortedBy && key);
  if (!column || !isNumeric(column)) return null;
  const value = parse(column.kind, number);
  return value === null ? null : { column, operator: operator as Operator, value };
}

function columnNamed(table: Table, name: string): Column | undefined {
  const prefix = plain(name);
  const numeric = table.columns.filter(isNumeric);
  const names = (column: Column) => [plain(column.key), plain(column.title)];
  return (
    numeric.find((column) => names(column).includes(prefix)) ??
    numeric.find((column) => names(column).some((candidate) => candidate.startsWith(prefix)))
  );
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** Whether a row answers a query. */
export function rowMatches(table: Table, row: number, query: Query): boolean {
  const holds = query.conditions.every(({ column, operator, value }) => {
    const cellValue = valueAt(column, row);
    return typeof cellValue === "number" && HOLDS[operator](cellValue, value);
  });
  if (!holds || !query.words.length) return holds;
  const texts = table.columns
    .map((column) => valueAt(column, row))
    .filter((value) => typeof value === "string")
    .map((text) => text.toLowerCase());
  return query.words.every((word) => texts.some((text) => text.includes(word)));
}

export interface Piece {
  text: string;
  isMatch: boolean;
}

/** A text split into pieces that match a word of the query and pieces that do not. */
export function splitMatches(text: string, words: string[]): Piece[] {
  const matched = new Uint8Array(text.length);
  const small = text.toLowerCase();
  for (const word of words) {
    for (let at = small.indexOf(word); at >= 0; at = small.indexOf(word, at + word.length)) {
      matched.fill(1, at, at + word.length);
    }
  }
  const pieces: Piece[] = [];
  for (let from = 0, to = 0; from < text.length; from = to) {
    while (to < text.length && matched[to] === matched[from]) to++;
    pieces.push({ text: text.slice(from, to), isMatch: matched[from] === 1 });
  }
  return pieces;
}
