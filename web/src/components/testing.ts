// Small blocks for tests.

import type { Column, Kind, Point, Scatter, Table } from "../document/types";

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

/** A picture of points below a slope and two roofs. */
export function scatter(points: Pick<Point, "name" | "x" | "y" | "size">[]): Scatter {
  return {
    type: "scatter",
    id: "roofline",
    title: "Operators",
    x_title: "FLOP per byte",
    y_title: "FLOP/s",
    size_title: "time per step",
    kind: "time_ns",
    points: points.map((point) => ({ about: "8x8", group: "2", ...point })),
    groups: [{ id: "2", name: "bound by memory" }],
    roofs: [
      { name: "memory 5 TB/s", value: 5e12, slopes: true },
      { name: "bf16 tensor 1 PFLOP/s", value: 1e15, slopes: false },
      { name: "fp32 100 TFLOP/s", value: 1e14, slopes: false },
    ],
    details: [{ title: "TFLOP/s", kind: "number", values: points.map(({ y }) => y / 1e12) }],
    link: "operator",
    section: "operators",
    note: "",
  };
}
