import { format } from "../format/format";
import type { Range, TraceApi } from "./api";

/** Downloads for another viewer; nothing of it is loaded here. */
export function Export({ api, range }: { api: TraceApi; range: Range | null }) {
  return (
    <details
      class="trace-export"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !event.currentTarget.open) return;
        event.preventDefault();
        event.currentTarget.open = false;
      }}
    >
      <summary class="button">Export for Perfetto</summary>
      <div class="menu">
        <p>Downloads a trace file. Open it at ui.perfetto.dev.</p>
        <a class="button" href={api.exportUrl()} download>
          Whole recording
        </a>
        {range ? (
          <a class="button" href={api.exportUrl(range)} download>
            Selected range of {format("time_ns", range[1] - range[0])}
          </a>
        ) : (
          <p class="quiet">Drag on the ruler to select a range to export.</p>
        )}
      </div>
    </details>
  );
}
