import { useMemo, useState } from "preact/hooks";
import type { Table as TableBlock } from "../document/types";
import { Icon } from "./Icon";
import { Table } from "./Table";

interface AsTableProps {
  summary: string;
  /** Called when opened, and again when `of` changes. */
  make(): TableBlock;
  of: unknown;
}

/** A collapsed table with the data of a drawing. */
export function AsTable({ summary, make, of }: AsTableProps) {
  const [open, setOpen] = useState(false);
  const table = useMemo(() => (open ? make() : null), [open, of]);
  return (
    <details class="as-table" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="down" size={12} />
        {summary}
      </summary>
      {table && <Table block={table} />}
    </details>
  );
}
