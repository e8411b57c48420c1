import { useEffect, useState } from "preact/hooks";
import type { Progress } from "../api/types";
import type { Call } from "./api";

export interface Answered<T> {
  /** The last answer; stays while the next one is on its way. */
  value: T | null;
  error: Error | null;
  progress: Progress | null;
  loading: boolean;
}

const NOTHING = { value: null, error: null, progress: null, loading: false };

/**
 * Asks whenever one of `inputs` changed, after `pause` milliseconds without a further change; what
 * is outdated is broken off.  `ask` null asks nothing.
 */
export function useAnswer<T>(
  ask: ((call: Call) => Promise<T>) | null,
  inputs: readonly unknown[],
  pause = 0,
): Answered<T> {
  const [answered, setAnswered] = useState<Answered<T>>(NOTHING);
  useEffect(() => {
    if (!ask) {
      setAnswered(NOTHING);
      return;
    }
    const abort = new AbortController();
    setAnswered((last) => ({ ...last, error: null, progress: null, loading: true }));
    const tell = (next: Partial<Answered<T>>) => {
      if (!abort.signal.aborted) setAnswered((last) => ({ ...last, ...next }));
    };
    const timer = setTimeout(() => {
      ask({ signal: abort.signal, onProgress: (progress) => tell({ progress }) }).then(
        (value) => tell({ value, loading: false }),
        (error: Error) => tell({ value: null, error, loading: false }),
      );
    }, pause);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, inputs);
  return answered;
}
