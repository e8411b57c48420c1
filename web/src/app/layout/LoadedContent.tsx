import type { ComponentChildren } from "preact";
import type { ApiError } from "../../api/client";
import type { Progress } from "../../api/types";
import type { Loaded } from "../api/useLoaded";

interface LoadedContentProps<T> {
  loaded: Loaded<T>;
  /** What is on its way, e.g. "the analysis". */
  what: string;
  children: (value: T) => ComponentChildren;
}

/** What the server answered; meanwhile how far it is, and what went wrong if anything did. */
export function LoadedContent<T>({ loaded, what, children }: LoadedContentProps<T>) {
  const { value, error, loading, progress, retry } = loaded;
  return (
    <>
      {loading && <ProgressMessage progress={progress} what={what} />}
      {error && <ErrorMessage error={error} onRetry={retry} />}
      {value !== undefined && children(value)}
    </>
  );
}

/** How far long work is; seen only if it takes longer than a blink. */
export function ProgressMessage({ progress, what }: { progress: Progress | null; what: string }) {
  const share = progress?.share ?? null;
  const doing = progress?.doing || `loading ${what}`;
  return (
    <div class="working" role="status">
      <progress {...(share === null ? {} : { value: share })} max={1} aria-label={doing} />
      <p>
        {capitalise(doing)}
        {share !== null && <span class="share"> {Math.round(share * 100)} %</span>}
      </p>
    </div>
  );
}

/** What went wrong, what it may be, and what to do next. */
export function ErrorMessage({ error, onRetry }: { error: ApiError; onRetry: () => void }) {
  return (
    <div class="failure" role="alert">
      <h2>{error.message}</h2>
      {error.hint && <p>{error.hint}</p>}
      <p class="next">
        <button type="button" class="button" onClick={onRetry}>
          Try again
        </button>
        <a href="#/">All runs</a>
      </p>
    </div>
  );
}

function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
