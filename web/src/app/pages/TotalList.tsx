import { useContext } from "preact/hooks";
import { LinksContext } from "../../components/links";
import type { Column, Table } from "../../document/types";
import { format } from "../../format/format";
import { type Total, totalsBy } from "./totals";

interface TotalListProps {
  table: Table;
  /** Column whose names are listed, and the kind of their links. */
  by: string;
  link: Column["link"];
  /** Text for a missing name. */
  unnamed: string;
}

/** Full names with their total time, call count and share. */
export function TotalList({ table, by, link, unnamed }: TotalListProps) {
  const totals = totalsBy(table, by);
  const all = totals.reduce((sum, { total_ns }) => sum + total_ns, 0);
  return (
    <ol class="totals">
      {totals.map((total) => (
        <Item key={total.name} {...{ total, all, link, unnamed }} />
      ))}
    </ol>
  );
}

interface ItemProps extends Pick<TotalListProps, "link" | "unnamed"> {
  total: Total;
  all: number;
}

function Item({ total, all, link, unnamed }: ItemProps) {
  const { hrefOfCell } = useContext(LinksContext);
  const { name, calls, total_ns, row } = total;
  const href = name ? hrefOfCell(link, name, row) : null;
  const share = all ? total_ns / all : 0;
  return (
    <li>
      <p class="total-name">{href ? <a href={href}>{name}</a> : name || unnamed}</p>
      <p class="total-figures">
        <span class="total-bar" aria-hidden="true">
          <span class="total-part" style={{ width: `${share * 100}%` }} />
        </span>
        <b>{format("time_ns", total_ns)}</b>
        <span>{format("share", share)}</span>
        <span>{calls === 1 ? "1 call" : `${format("count", calls)} calls`}</span>
      </p>
    </li>
  );
}
