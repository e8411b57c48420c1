import type { Column } from "../../document/types";
import { Icon } from "../Icon";
import type { Arrangement } from "./arrangement";
import { isNumeric } from "./values";

export interface HeadProps {
  columns: Column[];
  sort: Arrangement["sort"];
  onSort: (column: Column) => void;
}

/** Titles one can sort by. */
export function Head({ columns, sort, onSort }: HeadProps) {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const sorted = sort?.key === column.key ? sort : null;
          const arrow = sorted && <Icon name={sorted.descending ? "down" : "up"} size={12} />;
          return (
            <th
              key={column.key}
              scope="col"
              class={isNumeric(column) ? "number" : ""}
              aria-sort={sorted ? (sorted.descending ? "descending" : "ascending") : "none"}
            >
              <button type="button" onClick={() => onSort(column)} title={column.help || undefined}>
                {/* Beside the first word of a number's title: its end is where the digits end. */}
                {isNumeric(column) && arrow}
                {column.title}
                {!isNumeric(column) && arrow}
              </button>
            </th>
          );
        })}
      </tr>
    </thead>
  );
}
