import { useMemo, useRef, useState } from "preact/hooks";
import type { Column, Table as TableBlock } from "../document/types";
import { Caption } from "./Caption";
import { Meanings } from "./Meanings";
import { type TableState, useBlockState } from "./state";
import { arranger, nextSort } from "./table/arranging";
import { Body, PLAIN_ROWS, PRINTED_ROWS } from "./table/Body";
import { Head } from "./table/Head";
import { type Measures, measured } from "./table/measures";
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
  const [wholeNames, setWholeNames] = useState(block.whole ?? false);
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
  const toolbar = block.rows > 5 || searched || block.rows < block.total_rows;
  return (
    <figure class="table-block" style={tableWidth(measures)}>
      <Caption title={block.title} />
      {block.rows > 0 && (
        <>
          {toolbar && (
            <Toolbar
              block={block}
              arranged={arranged}
              state={state}
              onState={onState}
              shown={printing ? Math.min(arranged.rows.length, PRINTED_ROWS) : arranged.rows.length}
              wholeNames={wholeNames}
              onWholeNames={setWholeNames}
            />
          )}
          {/* biome-ignore-start lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard */}
          <section
            class={long ? "scrolled long" : "scrolled"}
            ref={scrolled}
            tabIndex={long ? 0 : undefined}
            aria-label={block.title || "Table"}
          >
            <table aria-rowcount={arranged.rows.length + 1}>
              <colgroup>
                {measures.map((each, at) => (
                  <col key={arranged.columns[at]?.key} style={columnWidth(each, measures)} />
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
                wholeNames={wholeNames}
                tabbed={!toolbar}
              />
            </table>
            {arranged.rows.length === 0 && <p class="empty">No row matches the search.</p>}
          </section>
          {/* biome-ignore-end lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard */}
        </>
      )}
      {!toolbar && block.rows > 0 && (
        <Meanings
          of="columns"
          meanings={arranged.columns.map(({ title, help }) => ({ term: title, help }))}
        />
      )}
      {block.note && <p class="table-note">{block.note}</p>}
    </figure>
  );
}

/** On paper long texts have about so many digits more than they need at least. */
const PAPER = 40;

/**
 * On the screen padding and digits, and a part of what room the columns leave in the width of the
 * page; on paper, which cannot be scrolled, a part of its width.
 */
function columnWidth(one: Measures, all: Measures[]): Record<string, string> {
  const { width, grows } = one;
  const least = `${width.toFixed(1)}ch + ${PADDING}rem`;
  const more = `${grows.toFixed(4)} * max(0px, 100cqi - 2px - var(--least))`;
  const onPaper = (each: Measures) => each.width + PAPER * each.grows + 1;
  const part = onPaper(one) / all.reduce((sum, each) => sum + onPaper(each), 0);
  return {
    "--column": grows ? `calc(${least} + ${more})` : `calc(${least})`,
    "--paper": `${(100 * part).toFixed(1)}%`,
  };
}

/** At least what its columns need; more only where a column can use it. */
function tableWidth(measures: Measures[]): Record<string, string> {
  const digits = measures.reduce((sum, { width }) => sum + width, 0);
  const least = `calc(${digits.toFixed(1)}ch + ${measures.length * PADDING}rem)`;
  const grows = measures.some((each) => each.grows > 0);
  return { "--least": least, "--width": grows ? "100%" : least };
}
