import { useEffect, useReducer, useState } from "preact/hooks";
import { type ApiError, asApiError, isAborted } from "../../api/client";
import type { Params, Progress } from "../../api/types";
import { useApp } from "../context";

export interface LoadRequest {
  path: string;
  params: Params;
  /** Version of the run: part of the cache key. */
  version: string;
}

export interface Loaded<T> {
  /** The answer; the previous version of it while a newer one is loading. */
  value: T | undefined;
  progress: Progress | null;
  error: ApiError | null;
  loading: boolean;
  retry: () => void;
}

interface Outcome {
  key: string;
  address: string;
  value?: unknown;
  progress?: Progress;
  error?: ApiError;
}

/** Loads an answer once per address and version; aborts when the page is left. */
export function useLoaded<T>(request: LoadRequest | null): Loaded<T> {
  const { client, cache, reconnections } = useApp();
  const [attempt, retry] = useReducer((count: number, _: unknown) => count + 1, 0);
  const [outcome, setOutcome] = useState<Outcome>({ key: "", address: "" });
  const address = request ? client.href(request.path, request.params) : "";
  const key = request ? `${address} ${request.version}` : "";
  const cached = key ? cache.get<T>(key) : undefined;
  const current = outcome.key === key ? outcome : null;

  useEffect(() => {
    if (!request || cache.get(key) !== undefined) return;
    const stop = new AbortController();
    const update = (change: Partial<Outcome>) =>
      setOutcome((previous) => {
        const value = previous.address === address ? previous.value : undefined;
        return { value, key, address, ...change };
      });
    update({});
    client
      .json<T>(request.path, request.params, {
        signal: stop.signal,
        onProgress: (progress) => update({ progress }),
      })
      .then((value) => {
        if (stop.signal.aborted) return;
        cache.set(key, value);
        update({ value });
      })
      .catch((error: unknown) => {
        if (!isAborted(error) && !stop.signal.aborted) update({ error: asApiError(error) });
      });
    return () => stop.abort();
  }, [key, attempt]);

  // Requests that failed for lack of a connection are repeated when the server is back.
  const lost = current?.error?.status === 0;
  useEffect(() => {
    if (lost) retry(null);
  }, [reconnections]);

  const earlier = outcome.address === address ? (outcome.value as T | undefined) : undefined;
  const value = cached ?? earlier;
  const error = cached === undefined ? (current?.error ?? null) : null;
  return {
    value,
    error,
    progress: current?.progress ?? null,
    loading: key !== "" && cached === undefined && !error,
    retry: () => retry(null),
  };
}
