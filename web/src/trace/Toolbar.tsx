import type { RefObject } from "preact";
import { CLOCKS } from "../components/clocks";
import { Switch } from "../components/Switch";
import { format } from "../format/format";
import type { Range, TraceApi } from "./api";
import { Export } from "./Export";
import type { Command } from "./keys";
import { SearchBox } from "./SearchBox";
import type { ClockInfo, Flows, Overlay } from "./types";
import type { Answer } from "./useAnswer";
import type { Search } from "./useSearch";

interface ToolbarProps {
  api: TraceApi;
  q: string;
  onSearch(q: string): void;
  searchBox: RefObject<HTMLInputElement | null>;
  search: Search;
  flows: Answer<Flows> | null;
  range: Range | null;
  loading: boolean;
  clock: Answer<ClockInfo>;
  /** Whether times are without profiler overhead. */
  withoutOverhead: boolean;
  overlays: readonly Overlay[];
  run(command: Command): void;
}

export function Toolbar(props: ToolbarProps) {
  const { run, flows, range, api, q, onSearch, search, searchBox } = props;
  return (
    <div class="trace-bar" role="toolbar" aria-label="Timeline">
      <SearchBox q={q} onSearch={onSearch} search={search} box={searchBox} />
      <div class="buttons">
        <button
          type="button"
          class="button"
          title="Fit the whole recording (0)"
          onClick={() => run("fit")}
        >
          Fit all
        </button>
        <button type="button" class="button" title="Zoom in (W)" onClick={() => run("zoom in")}>
          Zoom in
        </button>
        <button type="button" class="button" title="Zoom out (S)" onClick={() => run("zoom out")}>
          Zoom out
        </button>
        <button
          type="button"
          class="button"
          title="Arrows from kernel launches to device work (L)"
          aria-pressed={flows !== null}
          onClick={() => run("flows")}
        >
          Flows
        </button>
        {flows && <span class="quiet">{flowsText(flows)}</span>}
        <OverlayButtons {...props} />
        <Export api={api} range={range} />
        <button type="button" class="button" title="Keys (?)" onClick={() => run("help")}>
          Keys
        </button>
      </div>
      <span class="trace-busy" role="status">
        {props.loading ? "loading" : ""}
      </span>
    </div>
  );
}

/** Switch of the clock, and buttons of overlays in the colours they are drawn in. */
function OverlayButtons({ clock, withoutOverhead, overlays, run }: ToolbarProps) {
  const { value, error } = clock;
  const hasClock = value !== null && value.source !== "none";
  // The place of what comes with the answer is kept: the timeline must not move under the pointer.
  const isPending = value === null && error === null;
  return (
    <>
      <button
        type="button"
        class="button"
        title="Highlight the critical path; the rest is dimmed (C)"
        aria-pressed={overlays.includes("path")}
        onClick={() => run("path")}
      >
        <span class="swatch path" />
        Critical path
      </button>
      {(hasClock || isPending) && (
        <span class={isPending ? "clock-choice pending" : "clock-choice"}>
          {!withoutOverhead && (
            <button
              type="button"
              class="button"
              title={`Host time spent on recording: ${format("time_ns", value?.recording_ns ?? 0)} on all threads (R)`}
              aria-pressed={overlays.includes("recording")}
              onClick={() => run("recording")}
            >
              <span class="swatch recording" />
              Profiler overhead
            </button>
          )}
          <span title={value ? clockText(value) : ""}>
            <Switch
              label="Times"
              options={CLOCKS}
              chosen={withoutOverhead ? "own" : "recorded"}
              onChoose={() => run("clock")}
            />
          </span>
        </span>
      )}
      {value && !hasClock && (
        <span class="quiet" title={`${value.why}.`}>
          Profiler overhead not known
        </span>
      )}
    </>
  );
}

function clockText({ own_cycle_us, recorded_cycle_us, ci95_us, source }: ClockInfo): string {
  const time = (us: number | null) => format("time_ns", (us ?? 0) * 1000);
  const between = source === "estimated" && ci95_us;
  const interval = between ? `, 95 % between ${time(between[0])} and ${time(between[1])}` : "";
  return `Step time without profiler overhead: ${time(own_cycle_us)} (${source}${interval}); as recorded: ${time(recorded_cycle_us)} (O)`;
}

function flowsText({ value, error }: Answer<Flows>): string {
  if (error) return error.message;
  if (!value) return "";
  const loaded = value.from.length;
  const total = format("count", value.total);
  return loaded < value.total ? `${format("count", loaded)} of ${total}` : total;
}
