import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Table } from "../../document/types";
import { Icon } from "../Icon";
import type { TableState } from "../state";
import type { Arrangement } from "./arrangement";
import { copyText, rowCountText, toTsv } from "./clipboard";

export interface ToolbarProps {
  block: Table;
  arranged: Arrangement;
  state: TableState;
  onState: (state: TableState) => void;
  /** Rows that are there: fewer on paper. */
  visibleRows: number;
  fullNames: boolean;
  onFullNames: (isFull: boolean) => void;
}

/** Search, choice of columns, copying, and how many rows there are. */
export function Toolbar(props: ToolbarProps) {
  const { block, arranged, state, onState, visibleRows } = props;
  return (
    <div class="toolbar">
      <label class="search">
        <Icon name="search" size={14} />
        <span class="visually-hidden">Search in {block.title || "the table"}</span>
        <input
          type="search"
          class="input"
          placeholder="Search"
          title="Words to find, and conditions such as calls>100 or >10us (on the sorted column)"
          value={state.search ?? ""}
          onInput={(event) => onState({ ...state, search: event.currentTarget.value || undefined })}
        />
      </label>
      <span class="rows" role="status">
        {rowCountText(block, arranged.rows.length, visibleRows)}
      </span>
      <span class="room" />
      {block.columns.length > 1 && <ColumnMenu {...props} />}
      <CopyButton arranged={arranged} />
    </div>
  );
}

function CopyButton({ arranged }: { arranged: Arrangement }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    await copyText(toTsv(arranged.columns, arranged.rows));
    setCopied(true);
  };
  return (
    <button type="button" class="button" onClick={copy} title="Copy the rows as tab-separated text">
      <Icon name={copied ? "good" : "copy"} size={14} />
      <span aria-live="polite">{copied ? "Copied" : "Copy"}</span>
    </button>
  );
}

function ColumnMenu(props: ToolbarProps) {
  const { block, arranged, state, onState, fullNames, onFullNames } = props;
  const menu = useRef<HTMLDetailsElement>(null);
  useClosing(menu);
  const visibleKeys = new Set(arranged.columns.map(({ key }) => key));
  const toggle = (key: string) => {
    const next = block.columns.map((column) => column.key);
    const columns = next.filter((columnKey) =>
      columnKey === key ? !visibleKeys.has(columnKey) : visibleKeys.has(columnKey),
    );
    if (columns.length) onState({ ...state, columns });
  };
  const more = block.columns.length - visibleKeys.size;
  return (
    <details class="menu" ref={menu}>
      <summary class="button" title="Choose columns and read what they mean">
        <Icon name="columns" size={14} />
        Columns{more > 0 && <span class="quiet"> +{more}</span>}
      </summary>
      <fieldset>
        <legend class="visually-hidden">Choose columns and read what they mean</legend>
        {block.columns.map(({ key, title, help }) => (
          <label key={key}>
            <input type="checkbox" checked={visibleKeys.has(key)} onChange={() => toggle(key)} />
            <span>
              {title}
              {help && <small>{help}</small>}
            </span>
          </label>
        ))}
        <label class="names">
          <input type="checkbox" checked={fullNames} onChange={() => onFullNames(!fullNames)} />
          Show full names
        </label>
        {state.columns && (
          <button
            type="button"
            class="button"
            onClick={() => onState({ ...state, columns: undefined })}
          >
            Reset
          </button>
        )}
      </fieldset>
    </details>
  );
}

/** A menu goes away by Escape and by a click elsewhere. */
function useClosing(menu: RefObject<HTMLDetailsElement | null>): void {
  useEffect(() => {
    const click = (event: Event) => {
      if (menu.current?.open && !menu.current.contains(event.target as Node)) {
        menu.current.open = false;
      }
    };
    const key = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || !menu.current?.open) return;
      menu.current.open = false;
      menu.current.querySelector("summary")?.focus();
    };
    document.addEventListener("click", click);
    document.addEventListener("keydown", key);
    return () => {
      document.removeEventListener("click", click);
      document.removeEventListener("keydown", key);
    };
  }, [menu]);
}
