import { useEffect, useReducer, useState } from "preact/hooks";
import { type ApiError, asApiError, type Client } from "../../api/client";
import type { RunsAnswer } from "../api/types";

const EVERY_MS = 2000;

export interface Listing {
  listing: RunsAnswer | undefined;
  /** Why the last request failed; null when it did not. */
  error: ApiError | null;
  contact: number;
}

/** The runs, looked up every two seconds while somebody looks at the page. */
export function useRuns(client: Client): Listing & { retry: () => void } {
  const [state, setState] = useState<Listing>({ listing: undefined, error: null, contact: 0 });
  const [attempt, retry] = useReducer((count: number, _: unknown) => count + 1, 0);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let asking: AbortController | null = null;

    async function look() {
      clearTimeout(timer);
      asking?.abort();
      const current = new AbortController();
      asking = current;
      try {
        const answer = await client.json<RunsAnswer>("runs", {}, { signal: current.signal });
        if (!current.signal.aborted) setState((before) => withAnswer(before, answer));
      } catch (error) {
        if (current.signal.aborted) return;
        setState((before) => ({ ...before, error: asApiError(error) }));
      }
      if (!document.hidden && !current.signal.aborted) timer = setTimeout(look, EVERY_MS);
    }

    const lookOrRest = () => (document.hidden ? clearTimeout(timer) : void look());
    void look();
    document.addEventListener("visibilitychange", lookOrRest);
    return () => {
      document.removeEventListener("visibilitychange", lookOrRest);
      clearTimeout(timer);
      asking?.abort();
    };
  }, [client, attempt]);
  return { ...state, retry: () => retry(null) };
}

/** The same object where nothing changed, so that nothing is drawn anew. */
export function withAnswer(before: Listing, answer: RunsAnswer): Listing {
  const same = before.listing?.generation === answer.generation;
  if (same && !before.error) return before;
  return {
    listing: same ? before.listing : answer,
    error: null,
    contact: before.contact + (before.error ? 1 : 0),
  };
}
