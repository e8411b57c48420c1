import type { ComponentChildren } from "preact";
import { useContext } from "preact/hooks";
import type { Column } from "../../document/types";
import { formatParts, NONE } from "../../format/format";
import { LinksContext, type RowValues } from "../links";
import { type Measures, missingDecimals } from "./measures";
import { mayBeCut, roomForTail, splitName } from "./names";
import { splitMatches } from "./search";
import { isNumeric } from "./values";

export interface CellProps {
  column: Column;
  value: string | number | null;
  measures: Measures;
  words: string[];
  row: () => RowValues;
  /** Whether long names of this row are shown whole. */
  open: boolean;
  /** Whether names are stops of the Tab key: not where a menu opens them all. */
  tabbed: boolean;
  onOpen: () => void;
}

/** One cell: a number at its point, or a text with what was searched marked. */
export function Cell(props: CellProps) {
  const { column, value } = props;
  if (isNumeric(column)) return <NumberCell {...props} />;
  if (value === null) return <td class="none">{NONE}</td>;
  const text = String(value);
  return (
    <td title={text}>
      <span class="named">
        <Linked {...props}>
          <Name text={text} words={props.words} />
        </Linked>
        {mayBeCut(text) && (
          // Its word comes from the style sheet, so that it is not copied with the name.
          <button
            type="button"
            class="opener"
            tabIndex={props.tabbed ? undefined : -1}
            onClick={props.onOpen}
            aria-expanded={props.open}
            aria-label={`Full name: ${text}`}
          />
        )}
      </span>
    </td>
  );
}

function NumberCell({ column, value, measures, row }: CellProps) {
  if (value === null) return <td class="number none">{NONE}</td>;
  const { digits, unit } = formatParts(column.kind, value);
  const missing = missingDecimals(digits, measures.decimals);
  const share = measures.max > 0 ? Math.min(Math.max(Number(value) / measures.max, 0), 1) : 0;
  return (
    <td
      class={share > 0 ? "number barred" : "number"}
      style={share > 0 ? { "--share": `${(100 * share).toFixed(2)}%` } : undefined}
    >
      <Linked column={column} value={value} row={row}>
        {column.signed && Number(value) > 0 && "+"}
        {digits}
        {missing > 0 && <span style={{ paddingRight: `${missing}ch` }} />}
        {measures.unit > 0 && (
          <span class="unit" style={{ minWidth: `${measures.unit}ch` }}>
            {unit && ` ${unit}`}
          </span>
        )}
      </Linked>
    </td>
  );
}

type LinkedProps = Pick<CellProps, "column" | "value" | "row"> & {
  children: ComponentChildren;
};

function Linked({ column, value, row, children }: LinkedProps) {
  const links = useContext(LinksContext);
  if (!column.link || value === null) return children;
  const href = links.hrefOfCell(column.link, String(value), row());
  return href ? <a href={href}>{children}</a> : children;
}

function Name({ text, words }: { text: string; words: string[] }) {
  const [head, tail] = splitName(text);
  return (
    <span class="name" style={roomForTail(tail)}>
      <span class="head">
        <Marked text={head} words={words} />
      </span>
      <Marked text={tail} words={words} />
    </span>
  );
}

/** A text in which what was searched is marked. */
export function Marked({ text, words }: { text: string; words: string[] }) {
  if (!words.length) return <>{text}</>;
  return (
    <>
      {splitMatches(text, words).map((piece, at) =>
        piece.isMatch ? <mark key={at}>{piece.text}</mark> : piece.text,
      )}
    </>
  );
}
