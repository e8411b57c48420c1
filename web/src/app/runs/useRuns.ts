import { useEffect, useReducer, useState } from "preact/hooks";
import { type ApiError, asApiError, type Client } from "../../api/client";
import { poll } from "../api/polling";
import type { RunsAnswer } from "../api/types";

const EVERY_MS = 2000;

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
        if (!signal.aborted) setState((before) => withAnswer(before, answer));
      } catch (error) {
        if (!signal.aborted) setState((before) => ({ ...before, error: asApiError(error) }));
      }
      return true;
    };
    return poll(request, EVERY_MS);
  }, [client, attempt]);
  return { ...state, retry: () => retry(null) };
}

/** The state with an answer; the same object where nothing changed. */
export function withAnswer(before: Listing, answer: RunsAnswer): Listing {
  const same = before.listing?.generation === answer.generation;
  if (same && !before.error) return before;
  return {
    listing: same ? before.listing : answer,
    error: null,
    reconnections: before.reconnections + (before.error ? 1 : 0),
  };
}
