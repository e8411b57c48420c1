import type { RefObject } from "preact";
import { format } from "../format/format";
import type { Range, TraceApi } from "./api";
import { Export } from "./Export";
import type { Command } from "./keys";
import { SearchBox } from "./SearchBox";
import type { Flows } from "./types";
import type { Answered } from "./useAnswer";
import type { Search } from "./useSearch";

interface ToolbarProps {
  api: TraceApi;
  q: string;
  onSearch(q: string): void;
  searchBox: RefObject<HTMLInputElement | null>;
  search: Search;
  flows: Answered<Flows> | null;
  range: Range | null;
  loading: boolean;
  run(command: Command): void;
}

export function Toolbar(props: ToolbarProps) {
  const { run, flows, range, api, q, onSearch, search, searchBox } = props;
  return (
    <div class="trace-bar" role="toolbar" aria-label="Timeline">
      <SearchBox q={q} onSearch={onSearch} search={search} box={searchBox} />
      <div class="buttons">
        <button type="button" class="button" title="Show everything (0)" onClick={() => run("fit")}>
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
          title="Arrows from launches to device work (L)"
          aria-pressed={flows !== null}
          onClick={() => run("flows")}
        >
          Flows
        </button>
        {flows && <span class="told">{flowsText(flows)}</span>}
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

function flowsText({ value, error }: Answered<Flows>): string {
  if (error) return error.message;
  if (!value) return "";
  const shown = value.from.length;
  const total = format("count", value.total);
  return shown < value.total ? `${format("count", shown)} of ${total}` : total;
}
