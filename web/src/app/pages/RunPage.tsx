import type { FunctionComponent } from "preact";
import { useState } from "preact/hooks";
import type { Run } from "../api/types";
import { useApp } from "../context";
import { ChangedBar, GrowingBar } from "../layout/ChangedBar";
import { formatRoute, type RunPage as Page } from "../routing/route";
import { chosenPart, versionOf } from "../runs/choice";
import { DocumentPage } from "./DocumentPage";
import { Kernels } from "./Kernels";
import { UnknownRun } from "./NotFound";
import { Operators } from "./Operators";
import { Overview } from "./Overview";
import type { RunContext, RunRoute } from "./runContext";
import { TracePage } from "./TracePage";

const PAGES: Readonly<Record<Page, FunctionComponent<{ context: RunContext }>>> = {
  overview: Overview,
  operators: Operators,
  efficiency: DocumentPage,
  kernels: Kernels,
  memory: DocumentPage,
  modules: DocumentPage,
  distributed: DocumentPage,
  trace: TracePage,
};

/** One of the pages of a run. */
export function RunPage({ route }: { route: RunRoute }) {
  const { listing } = useApp();
  if (!listing) return null;
  const run = listing.runs.find(({ name }) => name === route.run);
  if (!run) return <UnknownRun name={route.run} />;
  if (!run.timeline && !(route.page === "kernels" && run.counters.length > 0)) {
    return <NoTimeline run={run} />;
  }
  const { worker, span } = chosenPart(run, route.query);
  return (
    <Pinned
      key={[run.name, route.page, worker, span].join("\n")}
      {...{ run, route, worker, span }}
    />
  );
}

/** Shows the recording as it was when the page was opened, until the reader asks for the newest. */
function Pinned(page: Omit<RunContext, "version">) {
  const newest = versionOf(page.run);
  const [version, setVersion] = useState(newest);
  const Content = PAGES[page.route.page];
  return (
    <>
      {version !== newest ? (
        <ChangedBar onShow={() => setVersion(newest)} />
      ) : (
        page.run.growing && <GrowingBar />
      )}
      <Content context={{ ...page, version }} />
    </>
  );
}

function NoTimeline({ run }: { run: Run }) {
  return (
    <div class="message">
      <h1>{run.name} has no timeline</h1>
      <p>
        {run.growing
          ? "It is still being recorded. Its pages open as soon as the trace is written."
          : "It contains no trace."}
      </p>
      <p class="next">
        {run.behaviour && (
          <a class="button primary" href={formatRoute({ at: "compare", query: { new: run.name } })}>
            Compare it with another run
          </a>
        )}
        {run.counters.length > 0 && (
          <a
            class="button"
            href={formatRoute({ at: "run", run: run.name, page: "kernels", query: {} })}
          >
            Show kernel counters
          </a>
        )}
        <a href="#/">All runs</a>
      </p>
    </div>
  );
}
