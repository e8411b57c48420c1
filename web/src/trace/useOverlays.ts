import { useEffect } from "preact/hooks";
import type { Range } from "./api";
import type { Engine } from "./engine";
import type { Command } from "./keys";
import type { StateChange } from "./state";
import type { TraceViewProps } from "./TraceView";
import type { ClockInfo, Flows, Overlay } from "./types";
import { type Answer, useAnswer } from "./useAnswer";
import { addressOf } from "./view";

interface Overlays {
  clock: Answer<ClockInfo>;
  overlays: readonly Overlay[];
  /** Where the critical path in view changes its track. */
  arrows: Flows | null;
  commands: Record<Extract<Command, "clock" | "path" | "recording">, () => void>;
}

/** The clock that is shown, and what is drawn over slices: once the first picture is there. */
export function useOverlays(
  { api, state }: TraceViewProps,
  engine: Engine,
  settled: Range | null,
  onState: (next: StateChange, mode: "push" | "replace") => void,
): Overlays {
  const isReady = settled !== null;
  const clock = useAnswer(isReady ? (call) => api.clock(call) : null, [api, isReady]);
  const hasClock = clock.value !== null && clock.value.source !== "none";
  const withoutOverhead = state.clock === "own";
  const path = isReady && state.path === 1;
  const recording = hasClock && !withoutOverhead && state.recording !== 0;
  const overlays: Overlay[] = [
    ...(path ? ["path" as const] : []),
    ...(recording ? ["recording" as const] : []),
  ];
  useEffect(() => engine.setOverlays(overlays), [engine, overlays.join()]);
  const pathRange = path ? settled : null;
  const arrows = useAnswer(pathRange && ((call) => api.path(pathRange, call)), [api, pathRange]);
  const commands = {
    path: () => onState({ path: path ? undefined : 1 }, "replace"),
    recording: () => onState({ recording: recording ? 0 : undefined }, "replace"),
    clock: () => {
      if (!hasClock) return;
      // The view itself, not the address: that follows once the view stands still.
      const { from, to } = addressOf(engine.aim, engine.timeline.length_ns);
      const next = withoutOverhead ? undefined : ("own" as const);
      // What is in view stays in view, at the same position where the other clock is not known.
      const here = { from, to };
      const viewOnClock =
        from === undefined || to === undefined
          ? Promise.resolve(here)
          : api.otherClock([from, to]).then(
              (place) => ({ from: place.from_ns, to: place.to_ns }),
              () => here,
            );
      viewOnClock.then((view) => onState({ clock: next, range: undefined, ...view }, "push"));
    },
  };
  return { clock, overlays, arrows: arrows.value, commands };
}
