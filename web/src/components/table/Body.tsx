import type { Ref, RefObject } from "preact";
import { useState } from "preact/hooks";
import type { Table } from "../../document/types";
import type { Arrangement } from "./arrangement";
import { Cell } from "./Cell";
import type { Measures } from "./measures";
import { useCutNames } from "./useCutNames";
import { useVirtualRows } from "./useVirtualRows";
import { rowValues, valueAt } from "./values";

/** Up to here a table is shown as a whole, without scrolling on its own. */
export const PLAIN_ROWS = 30;
/** Rows of a longer table on paper. */
export const PRINTED_ROWS = 50;

export interface BodyProps {
  block: Table;
  arranged: Arrangement;
  measures: Measures[];
  scrolled: RefObject<HTMLElement | null>;
  printing: boolean;
  /** Names are shown whole, however long. */
  fullNames: boolean;
  /** Whether each name that is cut is a stop of the Tab key. */
  tabbed: boolean;
}

/** The rows; of many only those in view are there. */
export function Body(props: BodyProps) {
  const { block, arranged, measures, scrolled, printing, fullNames, tabbed } = props;
  const virtual = arranged.rows.length > PLAIN_ROWS && !printing;
  const [toggled, setToggled] = useState<ReadonlySet<number>>(new Set());
  const isOpen = (row: number) => toggled.has(row) !== fullNames;
  useCutNames(scrolled);
  const { items, above, below, measure } = useVirtualRows(arranged.rows, scrolled, {
    enabled: virtual,
    opened: fullNames || toggled.size > 0,
  });
  const toggle = (row: number) => {
    const next = new Set(toggled);
    if (!next.delete(row)) next.add(row);
    setToggled(next);
  };
  const line = (row: number, at: number, ref: Ref<HTMLTableRowElement> = null) => (
    <tr
      key={row}
      ref={ref}
      data-index={at}
      aria-rowindex={at + 2}
      class={isOpen(row) ? "open" : ""}
    >
      {arranged.columns.map((column, index) => (
        <Cell
          key={column.key}
          column={column}
          value={valueAt(column, row)}
          measures={measures[index] as Measures}
          words={arranged.query.words}
          row={() => rowValues(block, row)}
          onOpen={() => toggle(row)}
          open={isOpen(row)}
          tabbed={tabbed}
        />
      ))}
    </tr>
  );
  const names = fullNames ? "full-names" : "";
  if (!virtual) {
    const rows = arranged.rows.slice(0, PRINTED_ROWS);
    return <tbody class={names}>{rows.map((row, at) => line(row, at))}</tbody>;
  }
  const width = arranged.columns.length;
  return (
    <tbody class={names}>
      <Room height={above} width={width} />
      {items.map(({ index }) => line(arranged.rows[index] as number, index, measure))}
      <Room height={below} width={width} />
    </tbody>
  );
}

/** Stands for the rows that are not there. */
function Room({ height, width }: { height: number; width: number }) {
  if (height <= 0) return null;
  return (
    <tr class="room">
      <td colSpan={width} style={{ height: `${height}px` }} />
    </tr>
  );
}
