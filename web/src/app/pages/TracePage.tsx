import { useMemo } from "preact/hooks";
import { fetchTraceApi, readState, TraceView, writeState } from "../../trace/TraceView";
import { useApp } from "../context";
import { navigate } from "../routing/navigation";
import { changedQuery, runHref } from "../routing/route";
import type { OfRun } from "./ofRun";

/** The timeline of a worker and span. */
export function TracePage({ of }: { of: OfRun }) {
  const { base } = useApp();
  const { run, worker, span, version, route } = of;
  const key = [run.name, worker, span, version].join("\n");
  const api = useMemo(() => fetchTraceApi(base, { run: run.name, worker, span }), [base, key]);
  return (
    <div class="trace-page">
      <h1 class="visually-hidden">Trace of {run.name}</h1>
      <TraceView
        key={key}
        api={api}
        state={readState(route.query)}
        onState={(next, how) =>
          navigate({ ...route, query: changedQuery(route.query, writeState(next)) }, how)
        }
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
