import { Icon } from "../../components/Icon";
import type { AbRuns, RunsAnswer, WatchedProgram } from "../api/types";
import { useApp } from "../context";
import { navigate } from "../routing/navigation";
import { formatRoute, type Query, updateQuery } from "../routing/route";
import { filterRuns, type Order, sortRuns } from "../runs/choice";
import { RunTable } from "./RunTable";
import { stateLabel } from "./Watch";

const ORDERS: readonly Order[] = ["name", "bytes", "changed_s"];

/** Every run below the served folder. */
export function Home() {
  const { listing, route } = useApp();
  if (!listing) return null;
  return (
    <>
      {listing.watches.length > 0 && <WatchedPrograms watches={listing.watches} />}
      {listing.ab.length > 0 && <AbComparisons folders={listing.ab} />}
      {listing.runs.length > 0 && <Runs listing={listing} query={route.query} />}
      {!listing.runs.length && !listing.ab.length && !listing.watches.length && (
        <NoRuns listing={listing} />
      )}
      {listing.histories.length > 0 && <Histories names={listing.histories} />}
    </>
  );
}

/** Programs of `timesink watch` with their state. */
function WatchedPrograms({ watches }: { watches: readonly WatchedProgram[] }) {
  return (
    <section class="home">
      <header class="home-head">
        <h2>Watched programs</h2>
        {watches.map(({ name, state }) => (
          <a key={name} class="button" href={formatRoute({ at: "watch", name, query: {} })}>
            {name} <span class={`tag watch-${state}`}>{stateLabel(state)}</span>
          </a>
        ))}
      </header>
    </section>
  );
}

/** Folders of `timesink ab`, newest first. */
function AbComparisons({ folders }: { folders: readonly AbRuns[] }) {
  return (
    <section class="home">
      <header class="home-head">
        <h2>A/B comparisons</h2>
        {folders
          .toSorted((a, b) => b.changed_s - a.changed_s)
          .map(({ name, runs, complete }) => (
            <a
              key={name}
              class="button"
              href={formatRoute({ at: "compare", query: { ab: name } })}
              title={`Compare ${runs} runs of ${name}`}
            >
              {name} <span class="quiet">{runs} runs</span>
              {!complete && <span class="tag recording">incomplete</span>}
            </a>
          ))}
      </header>
    </section>
  );
}

/** Histories of baselines. */
function Histories({ names }: { names: string[] }) {
  return (
    <section class="home">
      <header class="home-head">
        <h2>Histories</h2>
        {names.map((name) => (
          <a key={name} class="button" href={formatRoute({ at: "history", name, query: {} })}>
            @{name}
          </a>
        ))}
      </header>
    </section>
  );
}

function Runs({ listing, query }: { listing: RunsAnswer; query: Query }) {
  const { q = "", base = "", new: second = "" } = query;
  const order = ORDERS.find((name) => name === query.sort) ?? "changed_s";
  const runs = sortRuns(filterRuns(listing.runs, q), order);
  const change = (changes: Query, mode: "push" | "replace" = "push") =>
    navigate({ at: "home", query: updateQuery(query, changes) }, mode);
  return (
    <div class="home">
      <header class="home-head">
        <h1>Runs</h1>
        <p class="quiet">{q ? `${runs.length} of ${listing.runs.length}` : listing.runs.length}</p>
        <label class="search">
          <span class="visually-hidden">Filter runs</span>
          <Icon name="search" />
          <input
            class="input"
            type="search"
            placeholder="Filter by name"
            value={q}
            onInput={({ currentTarget }) => change({ q: currentTarget.value }, "replace")}
          />
        </label>
      </header>
      {base && (
        <PairBar base={base} second={second} onClear={() => change({ base: "", new: "" })} />
      )}
      {runs.length ? (
        <RunTable runs={runs} order={order} query={query} onChange={change} />
      ) : (
        <p class="message">
          No run name contains “{q}”.{" "}
          <button type="button" class="button" onClick={() => change({ q: "" })}>
            Show all
          </button>
        </p>
      )}
    </div>
  );
}

/** The runs selected for a comparison. */
function PairBar({ base, second, onClear }: { base: string; second: string; onClear: () => void }) {
  return (
    <div class="notice-bar pair-bar" role="status">
      {second ? (
        <>
          <span>
            Base <b>{base}</b>, new <b>{second}</b>
          </span>
          <a
            class="button primary"
            href={formatRoute({ at: "compare", query: { base, new: second } })}
          >
            Compare
          </a>
          <a
            class="button"
            href={formatRoute({ at: "home", query: { base: second, new: base } })}
            aria-label="Swap base and new"
          >
            Swap
          </a>
        </>
      ) : (
        <span>
          Base <b>{base}</b>: select the run to compare it with.
        </span>
      )}
      <button type="button" class="button" onClick={onClear}>
        Clear
      </button>
    </div>
  );
}

function NoRuns({ listing }: { listing: RunsAnswer }) {
  const folder = listing.logdir.replace(/\/$/, "");
  return (
    <div class="message">
      <h1>No runs yet</h1>
      <p>{folder} contains no recordings. New ones appear here automatically. To record one:</p>
      <pre>
        <code>timesink record -o {shellQuote(`${folder}/base`)} -- python train.py</code>
      </pre>
      <p class="quiet">
        Traces of torch.profiler (*.pt.trace.json), Nsight Systems (*.sqlite) and rocprofv3 work
        too: put them into a subfolder.
      </p>
    </div>
  );
}

/** A path quoted for a shell. */
function shellQuote(path: string): string {
  return /^[\w@%+=:,./~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
