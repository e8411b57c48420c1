import { useEffect, useReducer, useState } from "preact/hooks";
import { type ApiError, asApiError, type Client } from "../../api/client";
import { poll } from "../api/polling";
import type { RunsAnswer } from "../api/types";

const POLL_MS = 2000;

export interface Listing {
  listing: RunsAnswer | undefined;
  /** Error of the last request; null without one. */
  error: ApiError | null;
  reconnections: number;
}

/** The runs, polled every two seconds while the page is visible. */
export function useRuns(client: Client): Listing & { retry: () => void } {
  const [state, setState] = useState<Listing>({
    listing: undefined,
    error: null,
    reconnections: 0,
  });
  const [attempt, retry] = useReducer((count: number, _: unknown) => count + 1, 0);
  useEffect(() => {
    const request = async (signal: AbortSignal) => {
      try {
        const answer = await client.json<RunsAnswer>("runs", {}, { signal });
        if (!signal.aborted) setState((previous) => withAnswer(previous, answer));
      } catch (error) {
        if (!signal.aborted) setState((previous) => ({ ...previous, error: asApiError(error) }));
      }
      return true;
    };
    return poll(request, POLL_MS);
  }, [client, attempt]);
  return { ...state, retry: () => retry(null) };
}

/** The state with an answer; the same object where nothing changed. */
export function withAnswer(previous: Listing, answer: RunsAnswer): Listing {
  const same = previous.listing?.generation === answer.generation;
  if (same && !previous.error) return previous;
  return {
    listing: same ? previous.listing : answer,
    error: null,
    reconnections: previous.reconnections + (previous.error ? 1 : 0),
  };
}
