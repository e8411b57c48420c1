import { useRef } from "preact/hooks";
import type { StateChange } from "./state";

type OnState = (next: StateChange, mode: "push" | "replace") => void;

/** Changes made at once reach the address as one, so that none undoes another. */
export function useBatched(onState: OnState): OnState {
  const latest = useRef(onState);
  latest.current = onState;
  const waiting = useRef<{ next: StateChange; mode: "push" | "replace" } | null>(null);
  const batch = useRef<OnState>((next, mode) => {
    const before = waiting.current;
    const pushed = mode === "push" || before?.mode === "push";
    waiting.current = { next: { ...before?.next, ...next }, mode: pushed ? "push" : "replace" };
    if (before) return;
    queueMicrotask(() => {
      const { next: all, mode: way } = waiting.current!;
      waiting.current = null;
      latest.current(all, way);
    });
  });
  return batch.current;
}
