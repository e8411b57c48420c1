// The tree in words and as a table, for those who do not see the drawing.

import type { Icicle, Table } from "../../document/types";
import { format } from "../../format/format";
import { pathTo } from "./layout";

/** The name of a node. */
export function nameOf(block: Icicle, node: number): string {
  return block.texts[block.codes[node] ?? -1] ?? "";
}

/** A node's figures, with their titles. */
export function figuresOf(block: Icicle, node: number): [title: string, text: string][] {
  const total = block.value.reduce(
    (sum, value, at) => sum + (block.parent[at] === -1 ? value : 0),
    0,
  );
  const value = block.value[node] ?? 0;
  return [
    ["", format(block.kind, value)],
    ["", `${format("share", total > 0 ? value / total : null)} of the total`],
    ...block.details.map(({ title, kind, values }): [string, string] => [
      title,
      format(kind, values[node]),
    ]),
  ];
}

const MAX_ROWS = 2000;

/** The nodes as rows; the largest where there are too many. */
export function icicleTable(block: Icicle): Table {
  const all = block.value.map((_, node) => node);
  const nodes =
    all.length > MAX_ROWS
      ? all
          .sort((left, right) => (block.value[right] ?? 0) - (block.value[left] ?? 0))
          .slice(0, MAX_ROWS)
      : all;
  const column = { help: "", main: true, bar: false, link: "" as const };
  return {
    type: "table",
    id: `${block.id}-table`,
    title: "",
    rows: nodes.length,
    total_rows: block.value.length,
    note: "",
    sort: null,
    columns: [
      {
        ...column,
        key: "path",
        title: "path",
        kind: "text",
        data: {
          codes: nodes.map((_, at) => at),
          texts: nodes.map((node) =>
            pathTo(block.parent, node)
              .map((ancestor) => nameOf(block, ancestor))
              .join(" › "),
          ),
        },
      },
      {
        ...column,
        key: "value",
        title: "total",
        kind: block.kind,
        bar: true,
        data: { values: nodes.map((node) => block.value[node] ?? null) },
      },
      ...block.details.map(({ title, kind, values }, at) => ({
        ...column,
        key: `detail-${at}`,
        title,
        kind,
        data: { values: nodes.map((node) => values[node] ?? null) },
      })),
    ],
  };
}
