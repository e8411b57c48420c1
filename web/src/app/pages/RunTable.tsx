import { useEffect, useState } from "preact/hooks";
import { Icon } from "../../components/Icon";
import { format, NONE } from "../../format/format";
import type { Run } from "../api/types";
import { type Query, runHref } from "../routing/route";
import { ago } from "../runs/ago";
import { type Order, togglePair } from "../runs/choice";

interface RunTableProps {
  runs: readonly Run[];
  order: Order;
  query: Query;
  onChange(changes: Query): void;
}

/** Table of runs; two can be selected for a comparison. */
export function RunTable({ runs, order, query, onChange }: RunTableProps) {
  const now = useNow(10_000);
  const sortable = (name: Order, title: string, numeric = true) => (
    <th scope="col" class={numeric ? "numeric" : ""} aria-sort={ariaSort(name, order)}>
      <button type="button" onClick={() => onChange({ sort: name === "changed_s" ? "" : name })}>
        {title}
        {name === order && <Icon name={name === "name" ? "up" : "down"} size={12} />}
      </button>
    </th>
  );
  return (
    <table class="runs">
      <thead>
        <tr>
          <th scope="col" class="mark-column">
            Compare
          </th>
          {sortable("name", "Run", false)}
          <th scope="col" class="holds-column">
            Contents
          </th>
          <th scope="col" class="numeric">
            Processes
          </th>
          <th scope="col" class="numeric">
            Spans
          </th>
          {sortable("bytes", "Size")}
          {sortable("changed_s", "Modified")}
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <RunRow key={run.name} run={run} now={now} query={query} onChange={onChange} />
        ))}
      </tbody>
    </table>
  );
}

interface RunRowProps extends Pick<RunTableProps, "query" | "onChange"> {
  run: Run;
  now: number;
}

function RunRow({ run, now, query, onChange }: RunRowProps) {
  const role = run.name === query.base ? "base" : run.name === query.new ? "new" : "";
  const spans = Math.max(0, ...run.workers.map((worker) => worker.spans.length));
  return (
    <tr class={role ? "marked" : ""}>
      <td class="mark-column">
        <label>
          <input
            type="checkbox"
            checked={role !== ""}
            aria-label={`Compare ${run.name}`}
            onChange={() => onChange(togglePair(query, run.name))}
          />
          {role && <span class="tag">{role}</span>}
        </label>
      </td>
      <th scope="row">
        <a href={runHref(run.name, run.timeline || !run.counters.length ? "overview" : "kernels")}>
          {run.name}
        </a>
        {run.growing && <span class="tag recording">in progress</span>}
      </th>
      <td class="holds-column">
        {run.timeline && <span class="tag">timeline</span>}
        {run.behaviour && <span class="tag">steps</span>}
        {run.counters.length > 0 && (
          <span class="tag" title={run.counters.join(", ")}>
            kernel counters
          </span>
        )}
      </td>
      <td class="numeric" data-label={run.workers.length === 1 ? "process" : "processes"}>
        {run.workers.length || NONE}
      </td>
      <td class="numeric" data-label={spans === 1 ? "span" : "spans"}>
        {spans || NONE}
      </td>
      <td class="numeric">{format("bytes", run.bytes)}</td>
      <td class="numeric">
        <time title={new Date(run.changed_s * 1000).toLocaleString("en")}>
          {ago(run.changed_s, now)}
        </time>
      </td>
    </tr>
  );
}

function ariaSort(name: Order, order: Order) {
  if (name !== order) return "none" as const;
  return name === "name" ? ("ascending" as const) : ("descending" as const);
}

/** Seconds since 1970, updated every `every_ms`. */
function useNow(every_ms: number): number {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now() / 1000), every_ms);
    return () => clearInterval(timer);
  }, [every_ms]);
  return now;
}
