import { useMemo, useRef, useState } from "preact/hooks";
import type { Column, Table as TableBlock } from "../document/types";
import { Caption } from "./Caption";
import { Definitions } from "./Definitions";
import { type TableState, useBlockState } from "./state";
import { createArranger, nextSort } from "./table/arrangement";
import { Body, PLAIN_ROWS, PRINTED_ROWS } from "./table/Body";
import { Head } from "./table/Head";
import { columnMeasures, type Measures } from "./table/measures";
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
export function Table({ block, state: outerState, onState: onOuterState }: TableProps) {
  const [blockState, setBlockState] = useBlockState("tables", block.id);
  const state = onOuterState ? (outerState ?? {}) : blockState;
  const onState = onOuterState ?? setBlockState;
  const scrolled = useRef<HTMLDivElement>(null);
  const printing = usePrinting();
  const [fullNames, setFullNames] = useState(block.whole ?? false);
  const arrange = useMemo(() => createArranger(block), [block]);
  const arrangement = useMemo(() => arrange(state), [arrange, state]);
  const measures = useMemo(
    () => columnMeasures(arrangement.columns, block.rows, block.rows > PLAIN_ROWS),
    [arrangement.columns, block.rows],
  );
  const sortBy = (column: Column) => {
    onState({ ...state, sort: nextSort(block, column, arrangement.sort) });
    scrolled.current?.scrollTo({ top: 0 });
  };
  const long = arrangement.rows.length > PLAIN_ROWS;
  const isSearch = arrangement.query.words.length + arrangement.query.conditions.length > 0;
  const toolbar = block.rows > 5 || isSearch || block.rows < block.total_rows;
  return (
    <figure class="table-block" style={tableWidth(measures)}>
      <Caption title={block.title} />
      {block.rows > 0 && (
        <>
          {toolbar && (
            <Toolbar
              block={block}
              arranged={arrangement}
              state={state}
              onState={onState}
              visibleRows={
                printing ? Math.min(arrangement.rows.length, PRINTED_ROWS) : arrangement.rows.length
              }
              fullNames={fullNames}
              onFullNames={setFullNames}
            />
          )}
          {/* biome-ignore-start lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard */}
          <section
            class={long ? "scrolled long" : "scrolled"}
            ref={scrolled}
            tabIndex={long ? 0 : undefined}
            aria-label={block.title || "Table"}
          >
            <table aria-rowcount={arrangement.rows.length + 1}>
              <colgroup>
                {measures.map((columnMeasures, at) => (
                  <col
                    key={arrangement.columns[at]?.key}
                    style={columnWidth(columnMeasures, measures)}
                  />
                ))}
              </colgroup>
              <Head columns={arrangement.columns} sort={arrangement.sort} onSort={sortBy} />
              <Body
                // A full table and a virtual one share no state.
                key={long ? "long" : "short"}
                block={block}
                arranged={arrangement}
                measures={measures}
                scrolled={scrolled}
                printing={printing}
                fullNames={fullNames}
                tabbed={!toolbar}
              />
            </table>
            {arrangement.rows.length === 0 && <p class="empty">No row matches the search.</p>}
          </section>
          {/* biome-ignore-end lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard */}
        </>
      )}
      {!toolbar && block.rows > 0 && (
        <Definitions
          of="columns"
          meanings={arrangement.columns.map(({ title, help }) => ({ term: title, help }))}
        />
      )}
      {block.note && <p class="table-note">{block.note}</p>}
    </figure>
  );
}

/** Width that long texts get on paper beyond their minimum, in digits. */
const PAPER = 40;

/**
 * On the screen padding and digits, and a part of what room the columns leave in the width of the
 * page; on paper, which cannot be scrolled, a part of its width.
 */
function columnWidth(measures: Measures, all: Measures[]): Record<string, string> {
  const { width, grows } = measures;
  const min = `${width.toFixed(1)}ch + ${PADDING}rem`;
  const more = `${grows.toFixed(4)} * max(0px, 100cqi - 2px - var(--least))`;
  const onPaper = (column: Measures) => column.width + PAPER * column.grows + 1;
  const part = onPaper(measures) / all.reduce((sum, column) => sum + onPaper(column), 0);
  return {
    "--column": grows ? `calc(${min} + ${more})` : `calc(${min})`,
    "--paper": `${(100 * part).toFixed(1)}%`,
  };
}

/** At least what its columns need; more only where a column can use it. */
function tableWidth(measures: Measures[]): Record<string, string> {
  const digits = measures.reduce((sum, { width }) => sum + width, 0);
  const min = `calc(${digits.toFixed(1)}ch + ${measures.length * PADDING}rem)`;
  const grows = measures.some((column) => column.grows > 0);
  return { "--least": min, "--width": grows ? "100%" : min };
}
