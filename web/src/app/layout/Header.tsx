import { Icon } from "../../components/Icon";
import { ThemeToggle } from "../../components/ThemeToggle";
import type { Run, RunsAnswer } from "../api/types";
import { useApp } from "../context";
import { isFramed } from "../routing/frame";
import { navigate } from "../routing/navigation";
import { pageTitle } from "../routing/pageTitle";
import { formatRoute, type Route, runHref } from "../routing/route";
import { pagesOf } from "../runs/choice";
import { PartPickers } from "./PartPickers";
import { RunPicker } from "./RunPicker";

/** Pickers of the current run or pair, and tabs of its pages. */
export function Header({ onHelp }: { onHelp: () => void }) {
  const { route, listing } = useApp();
  const runs = listing?.runs ?? [];
  return (
    <header class="app-header">
      <div class="app-bar">
        <a class="brand" href="#/" title="All runs">
          <Mark />
          timesink
        </a>
        <div class="subject-pickers">
          {route.at === "run" && <RunPickers route={route} runs={runs} />}
          {route.at === "compare" && !route.query.ab && <PairPickers route={route} runs={runs} />}
          {route.at === "compare" && <span class="logdir">{route.query.ab}</span>}
          {route.at === "watch" && <span class="logdir">{route.name}</span>}
          {route.at === "home" && listing && <span class="logdir">{listing.logdir}</span>}
        </div>
        <div class="app-tools">
          {isFramed() && (
            <a
              class="icon-button"
              href={formatRoute(route)}
              target="_blank"
              rel="noopener"
              aria-label="Open in a new window"
              title="Open in a new window, with an address to share"
            >
              <Icon name="link" />
            </a>
          )}
          <ThemeToggle />
          <button
            type="button"
            class="icon-button"
            aria-label="Help and keys"
            title="Help and keys (?)"
            onClick={onHelp}
          >
            <Icon name="unknown" />
          </button>
        </div>
      </div>
      <Tabs route={route} listing={listing} />
    </header>
  );
}

function RunPickers({
  route,
  runs,
}: {
  route: Extract<Route, { at: "run" }>;
  runs: readonly Run[];
}) {
  const run = runs.find(({ name }) => name === route.run);
  const page = route.page;
  return (
    <>
      <RunPicker
        label="Run"
        runs={runs}
        chosen={route.run}
        onPick={(name) => navigate({ at: "run", run: name, page, query: {} })}
      />
      {run && <PartPickers run={run} route={route} />}
      {run?.growing && <span class="tag recording">in progress</span>}
    </>
  );
}

function PairPickers({ route, runs }: { route: Route; runs: readonly Run[] }) {
  const { base = "", new: second = "" } = route.query;
  const choose = (pair: { base: string; new: string }) =>
    navigate({ at: "compare", query: { ...route.query, ...pair } });
  return (
    <>
      <RunPicker
        label="Base"
        runs={runs}
        chosen={base}
        onPick={(name) => choose({ base: name, new: second })}
      />
      <button
        type="button"
        class="icon-button swap"
        aria-label="Swap the two runs"
        title="Swap the two runs"
        disabled={!base && !second}
        onClick={() => choose({ base: second, new: base })}
      >
        ⇄
      </button>
      <RunPicker
        label="New"
        runs={runs}
        chosen={second}
        onPick={(name) => choose({ base, new: name })}
      />
    </>
  );
}

function Tabs({ route, listing }: { route: Route; listing: RunsAnswer | undefined }) {
  const runs = listing?.runs ?? [];
  const abTimelines = listing?.ab.find(({ name }) => name === route.query.ab)?.timelines;
  // From a comparison the tabs lead to the pages of its new run.
  const pairOf = abTimelines ?? { base: route.query.base, new: route.query.new };
  const run = route.at === "run" ? route.run : pairOf.new || pairOf.base;
  if ((route.at !== "run" && route.at !== "compare") || !run) return null;
  const listed = runs.find(({ name }) => name === run);
  if (runs.length > 0 && !listed) return null;
  const current = route.at === "run" ? route.page : "compare";
  const query = route.at === "run" ? route.query : {};
  const pair = route.at === "compare" ? route.query : { new: run };
  const tabs = [
    ...pagesOf(listed).map((page) => ({
      page: page as string,
      href: runHref(run, page, query),
    })),
    { page: "compare", href: formatRoute({ at: "compare", query: pair }) },
  ];
  return (
    <nav class="page-tabs" aria-label="Pages">
      {tabs.map(({ page, href }) => (
        <a
          key={page}
          href={href}
          aria-current={page === current ? "page" : undefined}
          ref={(tab) => {
            if (page === current) tab?.scrollIntoView({ block: "nearest", inline: "nearest" });
          }}
        >
          {pageTitle(page)}
        </a>
      ))}
    </nav>
  );
}

/** Sand that ran down: the sign of the product. */
function Mark() {
  return (
    <svg class="mark" width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
      <path
        class="mark-glass"
        d="M5 2.5h10M5 17.5h10M6.2 2.5c0 4.2 3.2 5 3.2 7.5s-3.2 3.3-3.2 7.5M13.8 2.5c0 4.2-3.2 5-3.2 7.5s3.2 3.3 3.2 7.5"
      />
      <path class="mark-sand" d="M7 17c.3-2.4 1.6-3.4 3-3.4s2.7 1 3 3.4z" />
    </svg>
  );
}
