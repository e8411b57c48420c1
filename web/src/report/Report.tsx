import { useEffect, useMemo, useState } from "preact/hooks";
import { DocumentView } from "../components/DocumentView";
import { Icon } from "../components/Icon";
import type { DocumentState } from "../components/state";
import { ThemeToggle } from "../components/ThemeToggle";
import type { Document } from "../document/types";
import { anchor, anchorLinks, readAnchor, stateWithSearch } from "./anchors";
import type { ReadResult } from "./document";

/** The page of a report; without a document it says why. */
export function Report({ read }: { read: ReadResult }) {
  return (
    <div class="report">
      <header class="masthead">
        <span class="wordmark">timesink</span>
        {"document" in read && <span class="quiet">{read.document.version}</span>}
        <span class="room" />
        <button
          type="button"
          class="icon-button"
          onClick={() => print()}
          aria-label="Print"
          title="Print"
        >
          <Icon name="print" />
        </button>
        <ThemeToggle />
      </header>
      <main>
        {"document" in read ? (
          <AnchoredDocument document={read.document} />
        ) : (
          <p class="note tone-bad" role="alert">
            <Icon name="bad" />
            <span>{read.problem} Create the report again with timesink.</span>
          </p>
        )}
      </main>
    </div>
  );
}

/** A document whose links are anchors of this page: `#kernels?search=gemm` goes there and looks. */
function AnchoredDocument({ document: report }: { document: Document }) {
  const [state, setState] = useState<DocumentState>({});
  const links = useMemo(() => anchorLinks(report), [report]);
  useEffect(() => {
    const go = () => {
      const { section, search, clock } = readAnchor(location.hash);
      if (clock) setState((previous) => ({ ...previous, clock }));
      if (search) setState((previous) => stateWithSearch(report, previous, section, search));
      document.getElementById(section)?.scrollIntoView();
    };
    go();
    addEventListener("hashchange", go);
    return () => removeEventListener("hashchange", go);
  }, [report]);
  useEffect(() => {
    // Links to sections do not name the clock; the address does, so that it can be passed on.
    const keep = () => {
      const place = readAnchor(location.hash);
      if (place.clock !== state.clock)
        history.replaceState(history.state, "", anchor({ ...place, clock: state.clock }));
    };
    keep();
    addEventListener("hashchange", keep);
    return () => removeEventListener("hashchange", keep);
  }, [state.clock]);
  return <DocumentView document={report} links={links} state={state} onState={setState} />;
}
