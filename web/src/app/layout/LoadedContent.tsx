import type { ComponentChildren } from "preact";
import type { ApiError } from "../../api/client";
import type { Progress } from "../../api/types";
import type { Loaded } from "../api/useLoaded";

interface LoadedContentProps<T> {
  loaded: Loaded<T>;
  /** What is loading, e.g. "the analysis". */
  label: string;
  children: (value: T) => ComponentChildren;
}

/** The loaded content, progress while it loads, or the error. */
export function LoadedContent<T>({ loaded, label, children }: LoadedContentProps<T>) {
  const { value, error, loading, progress, retry } = loaded;
  return (
    <>
      {loading && <ProgressMessage progress={progress} label={label} />}
      {error && <ErrorMessage error={error} onRetry={retry} />}
      {value !== undefined && children(value)}
    </>
  );
}

/** Progress of a request; fades in after a moment. */
export function ProgressMessage({ progress, label }: { progress: Progress | null; label: string }) {
  const share = progress?.share ?? null;
  const doing = progress?.doing || `loading ${label}`;
  return (
    <div class="working" role="status">
      <progress {...(share === null ? {} : { value: share })} max={1} aria-label={doing} />
      <p>
        {capitalise(doing)}
        {share !== null && <span class="share"> ({Math.round(share * 100)} %)</span>}
      </p>
    </div>
  );
}

/** An error with its hint and a retry. */
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
