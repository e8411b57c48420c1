// Routes of the app: all of their state is in the hash, so that the app works below any prefix and
// inside TensorBoard's frame.

/** Pages of one run, in the order of the tabs. */
export const RUN_PAGES = [
  "overview",
  "operators",
  "efficiency",
  "kernels",
  "memory",
  "modules",
  "distributed",
  "trace",
] as const;

export type RunPage = (typeof RUN_PAGES)[number];

/** State of a page in its address: process, search, open details. */
export type Query = Readonly<Record<string, string>>;

export type Route =
  | { at: "home"; query: Query }
  | { at: "run"; run: string; page: RunPage; query: Query }
  | { at: "compare"; query: Query }
  | { at: "history"; name: string; query: Query }
  | { at: "watch"; name: string; query: Query }
  | { at: "unknown"; path: string; query: Query };

/** The route of a hash; `unknown` where there is none, never an error. */
export function parseRoute(hash: string): Route {
  const [path = "", search = ""] = split(hash.replace(/^#/, ""), "?");
  const query = parseQuery(search);
  const unknown: Route = { at: "unknown", path, query };
  const parts = path.split("/").filter(Boolean).map(tryDecode);
  if (parts.includes(null)) return unknown;
  const [first, ...rest] = parts as string[];
  if (first === undefined) return { at: "home", query };
  if (first === "compare" && rest.length === 0) return { at: "compare", query };
  if (first === "history" && rest.length === 1)
    return { at: "history", name: rest[0] as string, query };
  // A name typed by hand may have its slashes as they are.
  if (first === "watch" && rest.length > 0) return { at: "watch", name: rest.join("/"), query };
  if (first === "run" && rest.length > 0) return runRoute(rest, query) ?? unknown;
  return unknown;
}

/** The hash of a route, the inverse of `parseRoute`. */
export function formatRoute(route: Route): string {
  const search = formatQuery(route.query);
  switch (route.at) {
    case "home":
      return `#/${search}`;
    case "compare":
      return `#/compare${search}`;
    case "history":
      return `#/history/${encodeURIComponent(route.name)}${search}`;
    case "watch":
      return `#/watch/${encodeURIComponent(route.name)}${search}`;
    case "run":
      return `#/run/${encodeURIComponent(route.run)}/${route.page}${search}`;
    case "unknown":
      return `#${route.path}${search}`;
  }
}

/** Address of a page of a run: process, span and clock of `query`, with the state of `more`. */
export function runHref(run: string, page: RunPage, query: Query = {}, more: Query = {}): string {
  const { worker = "", span = "", clock = "" } = query;
  return formatRoute({ at: "run", run, page, query: { worker, span, clock, ...more } });
}

/** A query with some entries changed; "" removes one. */
export function updateQuery(query: Query, changes: Query): Query {
  return Object.fromEntries(Object.entries({ ...query, ...changes }).filter(([, text]) => text));
}

/** Identifies a page: another key resets focus and scrolling. */
export function placeOf(route: Route): string {
  if (route.at === "run") return `run ${route.run} ${route.page}`;
  if (route.at === "history" || route.at === "watch") return `${route.at} ${route.name}`;
  return route.at === "unknown" ? `unknown ${route.path}` : route.at;
}

function runRoute(parts: string[], query: Query): Route | null {
  const last = parts.at(-1) as string;
  if (parts.length === 1) return { at: "run", run: last, page: "overview", query };
  if (!isRunPage(last)) return null;
  return { at: "run", run: parts.slice(0, -1).join("/"), page: last, query };
}

function isRunPage(name: string): name is RunPage {
  return (RUN_PAGES as readonly string[]).includes(name);
}

function parseQuery(text: string): Query {
  return Object.fromEntries(new URLSearchParams(text));
}

function formatQuery(query: Query): string {
  const filled = Object.entries(query).filter(([, text]) => text !== "");
  return filled.length ? `?${new URLSearchParams(filled)}` : "";
}

function tryDecode(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

function split(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
