import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../../components/Icon";
import { format } from "../../format/format";
import type { Place, SearchResult } from "../../trace/types";
import { rangeQuery } from "../links";
import { navigate } from "../routing/navigation";
import { runHref, updateQuery } from "../routing/route";
import { type RunContext, useAnswer } from "./runContext";

interface DetailsProps {
  context: RunContext;
  /** "Operator" or "Kernel". */
  kind: string;
  name: string;
  children: ComponentChildren;
}

/** Details of a row, beside its table. */
export function Details({ context, kind, name, children }: DetailsProps) {
  const { route } = context;
  const closed = { ...route, query: updateQuery(route.query, { open: "", dims: "" }) };
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    heading.current?.focus({ preventScroll: true });
    return () => {
      if (before instanceof HTMLElement && before.isConnected)
        before.focus({ preventScroll: true });
    };
  }, [name]);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !event.defaultPrevented) navigate(closed);
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  });
  return (
    <aside class="row-details" aria-label={`${kind} ${name}`}>
      <header>
        <p class="details-kind">{kind}</p>
        <button
          type="button"
          class="icon-button"
          aria-label="Close details"
          title="Close (Esc)"
          onClick={() => navigate(closed)}
        >
          <Icon name="close" />
        </button>
        <h2 ref={heading} tabIndex={-1}>
          {name}
        </h2>
      </header>
      {children}
    </aside>
  );
}

/** Link to the longest call of a name in the trace; to a search until that is loaded. */
export function TraceLink({ context, name }: { context: RunContext; name: string }) {
  const { value } = useAnswer<SearchResult>(
    context,
    "timeline/search",
    context.run.timeline ? { q: name } : null,
  );
  if (!context.run.timeline) return null;
  const longest = value && longestOf(value, name);
  const query = longest
    ? { q: name, ...rangeQuery(longest.from_ns, longest.from_ns + longest.dur_ns, longest.id) }
    : { q: name };
  return (
    <a class="button" href={runHref(context.run.name, "trace", context.route.query, query)}>
      <Icon name="search" />
      {longest ? longestWords(value, longest) : "Find in the trace"}
    </a>
  );
}

function longestWords(result: SearchResult, { dur_ns }: Place): string {
  const many = result.total > result.hits.length;
  const which = many ? `Longest of the first ${result.hits.length} calls` : "Longest call";
  return `${which} in the trace, ${format("time_ns", dur_ns)}`;
}

/** The longest match with this name; the server truncates long names. */
export function longestOf({ hits }: SearchResult, name: string): Place | undefined {
  const exact = hits.filter((hit) => hit.name === name);
  const cut = hits.filter((hit) => name.startsWith(hit.name));
  return (exact.length ? exact : cut).toSorted((a, b) => b.dur_ns - a.dur_ns)[0];
}
