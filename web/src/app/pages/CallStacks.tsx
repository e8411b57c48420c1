import type { Column, Table } from "../../document/types";
import { format } from "../../format/format";
import { type Frame, framesOf } from "./frames";
import { cell } from "./totals";

const FIRST_FRAMES = 6;
const FIGURES: ReadonlySet<Column["kind"]> = new Set(["count", "time_ns"]);

/** Each call stack of an operator with how often and how long; the innermost call first. */
export function CallStacks({ table }: { table: Table }) {
  const stacks = table.columns.find(({ key }) => key === "call_stack");
  const rows = stacks ? rowsByTime(table) : [];
  if (!stacks || rows.every((row) => !cell(stacks, row))) {
    const advice =
      "No call stacks were recorded. torch.profiler records them with with_stack=True.";
    return <p class="quiet">{table.note || advice}</p>;
  }
  const figures = table.columns.filter(({ main, kind }) => main && FIGURES.has(kind));
  return (
    <>
      <ol class="call-stacks">
        {rows.map((row) => (
          <li key={row}>
            <p class="call-figures">
              {figures.map((column) => (
                <span key={column.key} title={column.help}>
                  {column.title} <b>{format(column.kind, cell(column, row))}</b>
                </span>
              ))}
            </p>
            <Frames frames={framesOf(cell(stacks, row))} />
          </li>
        ))}
      </ol>
      {table.total_rows > table.rows && (
        <p class="quiet">
          {table.total_rows - table.rows} more stacks, with less time, are not shown.
        </p>
      )}
    </>
  );
}

/** Stacks with most device time first; with most time on the host where there is none. */
function rowsByTime(table: Table): number[] {
  const [device, host] = ["device_total_ns", "host_total_ns"].map((name) =>
    table.columns.find(({ key }) => key === name),
  );
  const time = (column: Column | undefined, row: number) => Number(column ? cell(column, row) : 0);
  const rows = Array.from({ length: table.rows }, (_, row) => row);
  return rows.sort((a, b) => time(device, b) - time(device, a) || time(host, b) - time(host, a));
}

function Frames({ frames }: { frames: Frame[] }) {
  const rest = frames.slice(FIRST_FRAMES);
  if (!frames.length) return <p class="quiet">No call stack was recorded for these calls.</p>;
  return (
    <>
      <FrameList frames={frames.slice(0, FIRST_FRAMES)} />
      {rest.length > 0 && (
        <details>
          <summary>{rest.length === 1 ? "1 more caller" : `${rest.length} more callers`}</summary>
          <FrameList frames={rest} />
        </details>
      )}
    </>
  );
}

function FrameList({ frames }: { frames: Frame[] }) {
  return (
    <ol class="frames">
      {frames.map(({ name, place, raw }, index) => (
        // A function may call itself: only its place in the stack tells two calls apart.
        <li key={`${index} ${raw}`} title={raw}>
          {name} <span class="quiet">{place}</span>
        </li>
      ))}
    </ol>
  );
}
