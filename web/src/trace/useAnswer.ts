import { useEffect, useState } from "preact/hooks";
import type { Progress } from "../api/types";
import type { Call } from "./api";

export interface Answer<T> {
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
  request: ((call: Call) => Promise<T>) | null,
  inputs: readonly unknown[],
  pause = 0,
): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>(NOTHING);
  useEffect(() => {
    if (!request) {
      setAnswer(NOTHING);
      return;
    }
    const abort = new AbortController();
    setAnswer((last) => ({ ...last, error: null, progress: null, loading: true }));
    const update = (next: Partial<Answer<T>>) => {
      if (!abort.signal.aborted) setAnswer((last) => ({ ...last, ...next }));
    };
    const timer = setTimeout(() => {
      request({ signal: abort.signal, onProgress: (progress) => update({ progress }) }).then(
        (value) => update({ value, loading: false }),
        (error: Error) => update({ value: null, error, loading: false }),
      );
    }, pause);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, inputs);
  return answer;
}
