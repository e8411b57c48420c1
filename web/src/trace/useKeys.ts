import { useEffect, useRef } from "preact/hooks";
import { type Command, commandOf } from "./keys";

/** Keys of the timeline work with any focus but in text fields. */
export function useKeys(run: (command: Command) => void, paused: boolean): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const target = event.target as Element;
      if (paused || event.defaultPrevented || target.matches("input, textarea, select")) return;
      const command = commandOf(event);
      const moves = event.key.startsWith("Arrow") || event.key.startsWith("Page");
      if (!command || (moves && target.closest(".trace-panel"))) return;
      event.preventDefault();
      latest.current(command);
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [paused]);
}
