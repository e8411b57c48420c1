import { useMemo, useState } from "preact/hooks";
import type { Table as TableBlock } from "../document/types";
import { Icon } from "./Icon";
import { Table } from "./Table";

interface AsTableProps {
  summary: string;
  /** Made when it is asked for, and again when what it is made `of` changes. */
  make(): TableBlock;
  of: unknown;
}

/** A drawing as a table, folded away. */
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
