import { useApp } from "../context";
import { runHref } from "../routing/route";
import { mostSimilarName } from "../runs/choice";

/** Page for an unknown address. */
export function NotFound({ path }: { path: string }) {
  return (
    <div class="message">
      <h1>Page not found: {path}</h1>
      <p>The address may be incomplete, or of another version of timesink.</p>
      <p>
        <a class="button primary" href="#/">
          All runs
        </a>
      </p>
    </div>
  );
}

/** Page for a run that is not in the served folder. */
export function UnknownRun({ name }: { name: string }) {
  const { listing } = useApp();
  const similar = listing && mostSimilarName(listing.runs, name);
  return (
    <div class="message">
      <h1>Run not found: {name}</h1>
      <p>
        It is not in {listing?.logdir ?? "the served folder"}. It may have been moved, or not be
        recorded yet. The page opens as soon as the run exists.
      </p>
      <p class="next">
        <a class="button primary" href="#/">
          All runs
        </a>
        {similar && (
          <a class="button" href={runHref(similar, "overview")}>
            {similar}
          </a>
        )}
      </p>
    </div>
  );
}
