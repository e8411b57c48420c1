import { useMemo } from "preact/hooks";
import { asApiError } from "../../api/client";
import { fetchTraceApi, readState, TraceView, writeState } from "../../trace/TraceView";
import { useApp } from "../context";
import { ErrorMessage, ProgressMessage } from "../layout/LoadedContent";
import { navigate } from "../routing/navigation";
import { parseRoute, placeOf, runHref, updateQuery } from "../routing/route";
import type { RunContext } from "./runContext";

/** The timeline of a worker and span. */
export function TracePage({ context }: { context: RunContext }) {
  const { client } = useApp();
  const { run, worker, span, version, route } = context;
  const state = readState(route.query);
  const { clock } = state;
  const key = [run.name, worker, span, version, clock].join("\n");
  const recording = { run: run.name, worker, span, clock };
  const api = useMemo(() => fetchTraceApi(client, recording), [client, key]);
  return (
    <div class="trace-page">
      <h1 class="visually-hidden">Trace of {run.name}</h1>
      <TraceView
        key={key}
        api={api}
        renderProgress={(progress) => <ProgressMessage progress={progress} label="the timeline" />}
        renderError={(error, again) => <ErrorMessage error={asApiError(error)} onRetry={again} />}
        state={state}
        onState={(next, mode) => {
          // Of the address as it is now: a view may come to rest before its change is drawn.
          const now = parseRoute(location.hash);
          if (placeOf(now) !== placeOf(route)) return;
          navigate({ ...now, query: updateQuery(now.query, writeState(next)) }, mode);
        }}
        hrefOf={(page, search) =>
          runHref(run.name, page, route.query, {
            [`find.${page}`]: search,
            ...(page !== "modules" && { open: search }),
          })
        }
      />
    </div>
  );
}
