import { useMemo, useRef } from "preact/hooks";
import type { Column, Table as TableBlock } from "../document/types";
import { Caption } from "./Caption";
import { type TableState, useBlockState } from "./state";
import { arranger, nextSort } from "./table/arranging";
import { Body, PLAIN_ROWS, PRINTED_ROWS } from "./table/Body";
import { Head } from "./table/Head";
import { type Measures, measured, WIDE } from "./table/measures";
import { Toolbar } from "./table/Toolbar";
import { usePrinting } from "./table/usePrinting";

/** Left and right of what is in a cell, in rem. */
const PADDING = 0.875;

export interface TableProps {
  block: TableBlock;
  /** Given together with `onState` where the state is kept outside; else as `DocumentView` has it. */
  state?: TableState;
  onState?: (state: TableState) => void;
}

/** A table to sort, search and copy; long ones scroll on their own and draw only what is seen. */
export function Table({ block, state: given, onState: tell }: TableProps) {
  const [kept, keep] = useBlockState("tables", block.id);
  const state = tell ? (given ?? {}) : kept;
  const onState = tell ?? keep;
  const scrolled = useRef<HTMLDivElement>(null);
  const printing = usePrinting();
  const arrange = useMemo(() => arranger(block), [block]);
  const arranged = useMemo(() => arrange(state), [arrange, state]);
  const measures = useMemo(
    () => measured(arranged.columns, block.rows, block.rows > PLAIN_ROWS),
    [arranged.columns, block.rows],
  );
  const sortBy = (column: Column) => {
    onState({ ...state, sort: nextSort(block, column, arranged.sort) });
    scrolled.current?.scrollTo({ top: 0 });
  };
  const long = arranged.rows.length > PLAIN_ROWS;
  const searched = arranged.query.words.length + arranged.query.conditions.length > 0;
  return (
    <figure class="table-block">
      <Caption title={block.title} />
      {block.rows > 0 && (
        <>
          {(block.rows > 5 || searched || block.rows < block.total_rows) && (
            <Toolbar
              block={block}
              arranged={arranged}
              state={state}
              onState={onState}
              shown={printing && long ? PRINTED_ROWS : arranged.rows.length}
            />
          )}
          {/* biome-ignore-start lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard */}
          <section
            class={long ? "scrolled long" : "scrolled"}
            ref={scrolled}
            tabIndex={0}
            aria-label={block.title || "Table"}
          >
            <table aria-rowcount={arranged.rows.length + 1} style={tableWidth(measures)}>
              <colgroup>
                {measures.map(({ width }, at) => (
                  <col
                    key={arranged.columns[at]?.key}
                    style={
                      width === null ? undefined : { width: `calc(${width}ch + ${PADDING}rem)` }
                    }
                  />
                ))}
              </colgroup>
              <Head columns={arranged.columns} sort={arranged.sort} onSort={sortBy} />
              <Body
                // A table shown whole and one of rows in view share nothing.
                key={long ? "long" : "short"}
                block={block}
                arranged={arranged}
                measures={measures}
                scrolled={scrolled}
                printing={printing}
              />
            </table>
            {arranged.rows.length === 0 && <p class="empty">No row matches the search.</p>}
          </section>
          {/* biome-ignore-end lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard */}
        </>
      )}
      {block.note && <p class="table-note">{block.note}</p>}
    </figure>
  );
}

/** At least what its columns need; more only where a column can use it. */
function tableWidth(measures: Measures[]): Record<string, string> {
  const digits = measures.reduce((sum, { width }) => sum + (width ?? WIDE), 0);
  const least = `calc(${Math.ceil(digits)}ch + ${measures.length * PADDING}rem)`;
  const grows = measures.some(({ width }) => width === null);
  return { "--least": least, "--width": grows ? "100%" : least };
}
