import { useApp } from "../context";
import { runHref } from "../routing/route";
import { mostSimilarName } from "../runs/choice";

/** An address that leads nowhere, and where one may have wanted to go. */
export function NotFound({ path }: { path: string }) {
  return (
    <div class="message">
      <h1>There is no page {path}</h1>
      <p>The address may be cut short or of another version of timesink.</p>
      <p>
        <a class="button primary" href="#/">
          All runs
        </a>
      </p>
    </div>
  );
}

/** A run that is not below the served folder (any more). */
export function UnknownRun({ name }: { name: string }) {
  const { listing } = useApp();
  const similar = listing && mostSimilarName(listing.runs, name);
  return (
    <div class="message">
      <h1>There is no run {name}</h1>
      <p>
        It is not below {listing?.logdir ?? "the served folder"}: it may have been moved, or be
        still to come. It is shown as soon as it is there.
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
