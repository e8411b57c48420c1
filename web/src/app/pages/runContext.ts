import { useMemo } from "preact/hooks";
import type { Params } from "../../api/types";
import type { Links } from "../../components/links";
import type { Run } from "../api/types";
import { type Loaded, useLoaded } from "../api/useLoaded";
import { linksOfRun } from "../links";
import { formatRoute, type Route } from "../routing/route";

export type RunRoute = Extract<Route, { at: "run" }>;

/** Run, process and span of a page. */
export interface RunContext {
  run: Run;
  route: RunRoute;
  worker: string;
  span: string;
  /** State of the recording that is shown. */
  version: string;
}

/** An answer about the current process and span; null requests nothing. */
export function useAnswer<T>(context: RunContext, path: string, more: Params | null): Loaded<T> {
  const { run, worker, span, version } = context;
  const params = { run: run.name, worker, span, ...more };
  return useLoaded<T>(more === null ? null : { path, params, version });
}

/** Links of the names and times of the page. */
export function useLinks({ route }: RunContext): Links {
  const address = formatRoute(route);
  return useMemo(() => linksOfRun(route.run, route.page, route.query), [address]);
}
