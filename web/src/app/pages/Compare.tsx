import { useMemo, useState } from "preact/hooks";
import { NO_LINKS } from "../../components/links";
import type { Document } from "../../document/types";
import type { Run } from "../api/types";
import { useLoaded } from "../api/useLoaded";
import { useApp } from "../context";
import { ChangedBar } from "../layout/ChangedBar";
import { LoadedDocument } from "../layout/LoadedDocument";
import { linksOfComparison } from "../links";
import { formatRoute, type Query } from "../routing/route";
import { suggestedPartner, versionOf } from "../runs/choice";
import { UnknownRun } from "./NotFound";

/** Two runs, what changed between them, and why. */
export function Compare() {
  const { route, listing } = useApp();
  const { base = "", new: second = "", ab = "" } = route.query;
  if (!listing) return null;
  const { runs } = listing;
  const abRuns = listing.ab.find(({ name }) => name === ab);
  if (ab && !abRuns) return <UnknownRun name={ab} />;
  if (abRuns) {
    const version = `${abRuns.runs}@${abRuns.changed_s}`;
    const pair = { base: abRuns.timelines.base ?? "", second: abRuns.timelines.new ?? "" };
    return <Comparison key={`ab ${ab}`} params={{ ab }} {...pair} runs={runs} now={version} />;
  }
  const unknown = [base, second].find((name) => name && !runs.some((run) => run.name === name));
  if (unknown) return <UnknownRun name={unknown} />;
  if (!base || !second)
    return <ChooseTwo chosen={base || second} runs={runs} isBase={Boolean(base)} />;
  const pair = [base, second].map((name) => runs.find((run) => run.name === name));
  return (
    <Comparison
      key={`${base}\n${second}`}
      params={{ base, new: second }}
      base={base}
      second={second}
      runs={runs}
      now={pair.map(versionOf).join(" ")}
    />
  );
}

interface ComparisonProps {
  /** Parameters of the request. */
  params: Query;
  /** The runs whose timelines are linked to. */
  base: string;
  second: string;
  runs: readonly Run[];
  /** Version of the compared runs. */
  now: string;
}

function Comparison({ params, base, second, runs, now }: ComparisonProps) {
  const { route } = useApp();
  const { marker } = route.query;
  const [before, after] = [base, second].map((name) => runs.find((run) => run.name === name));
  const [version, setVersion] = useState(now);
  const loaded = useLoaded<Document>({
    path: "compare",
    params: { ...params, marker },
    version,
  });
  const links = useMemo(
    () => (before && after ? linksOfComparison({ base: before, new: after }) : NO_LINKS),
    [before, after],
  );
  return (
    <div class="comparison">
      {version !== now && <ChangedBar onShow={() => setVersion(now)} />}
      <LoadedDocument loaded={loaded} label="the comparison" links={links} />
    </div>
  );
}

interface ChooseTwoProps {
  chosen: string;
  isBase: boolean;
  runs: readonly Run[];
}

function ChooseTwo({ chosen, isBase, runs }: ChooseTwoProps) {
  const partner = chosen ? suggestedPartner(runs, chosen, isBase ? "new" : "base") : undefined;
  const pair = isBase ? { base: chosen, new: partner ?? "" } : { base: partner ?? "", new: chosen };
  return (
    <div class="message">
      <h1>Compare two runs</h1>
      {chosen ? (
        <p>
          {chosen} is the {isBase ? "base" : "new run"}. Choose the {isBase ? "new run" : "base"}{" "}
          above to see what changed and why.
        </p>
      ) : (
        <p>Choose a base and a new run above to see what changed and why.</p>
      )}
      {partner && (
        <p>
          <a class="button primary" href={formatRoute({ at: "compare", query: pair })}>
            Compare {pair.base} with {pair.new}
          </a>
        </p>
      )}
      {runs.length === 1 && <p>There is only one run. Record another one: it appears here.</p>}
    </div>
  );
}
