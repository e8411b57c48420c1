// A picture of points in words and as a table, for those who do not see it.

import type { Column, Scatter, Table } from "../../document/types";
import { format } from "../../format/format";

/** One point: its size and what else is known of it. */
export function figuresOf(block: Scatter, at: number): string[] {
  const figures = [
    { title: block.size_title, kind: block.kind, values: block.points.map(({ size }) => size) },
    ...block.details,
  ];
  return figures.flatMap(({ title, kind, values }) => {
    const value = values[at] ?? null;
    return value === null ? [] : [`${title} ${format(kind, value)}`];
  });
}

/** What the picture shows, in a sentence. */
export function summary(block: Scatter): string {
  const first = block.points[0];
  const many = `${block.points.length} points, ${block.y_title} by ${block.x_title}`;
  if (!first) return `${many}.`;
  const groups = block.groups.map(({ id, name }) => {
    const count = block.points.filter(({ group }) => group === id).length;
    return `${count} ${name}`;
  });
  return `${many}: ${groups.join(", ")}. The largest is ${first.name}, ${figuresOf(block, 0).join(", ")}.`;
}

/** All points as a table. */
export function scatterTable(block: Scatter): Table {
  const texts = (values: string[]): Column["data"] => {
    const distinct = [...new Set(values)];
    return { codes: values.map((value) => distinct.indexOf(value)), texts: distinct };
  };
  const column = (key: string, title: string, data: Column["data"]): Column => ({
    ...{ key, title, kind: "text", help: "", main: true, bar: false, link: "", data },
  });
  const names = new Map(block.groups.map(({ id, name }) => [id, name]));
  const { points } = block;
  const columns: Column[] = [
    { ...column("name", "name", texts(points.map(({ name }) => name))), link: block.link },
    column("about", "about", texts(points.map(({ about }) => about))),
    column("group", "bound", texts(points.map(({ group }) => names.get(group) ?? ""))),
    {
      ...column("size", block.size_title, { values: points.map(({ size }) => size) }),
      ...{ kind: block.kind, bar: true },
    },
    { ...column("x", block.x_title, { values: points.map(({ x }) => x) }), kind: "number" },
    ...block.details.map(({ title, kind, values }) => ({
      ...column(title, title, { values }),
      kind,
    })),
  ];
  return {
    type: "table",
    id: `${block.id}-points`,
    title: `${block.title}: the points`,
    columns,
    rows: points.length,
    total_rows: points.length,
    note: "",
    sort: { key: "size", descending: true },
  };
}
