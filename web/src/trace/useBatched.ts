import { useRef } from "preact/hooks";
import type { StateChange } from "./state";

type OnState = (next: StateChange, how: "push" | "replace") => void;

/** Changes made at once reach the address as one, so that none undoes another. */
export function useBatched(onState: OnState): OnState {
  const latest = useRef(onState);
  latest.current = onState;
  const waiting = useRef<{ next: StateChange; how: "push" | "replace" } | null>(null);
  const batch = useRef<OnState>((next, how) => {
    const before = waiting.current;
    const pushed = how === "push" || before?.how === "push";
    waiting.current = { next: { ...before?.next, ...next }, how: pushed ? "push" : "replace" };
    if (before) return;
    queueMicrotask(() => {
      const { next: all, how: way } = waiting.current!;
      waiting.current = null;
      latest.current(all, way);
    });
  });
  return batch.current;
}
