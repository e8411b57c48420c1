import type { Clock, Document } from "../document/types";
import { CLOCKS, currentClock, firstClock } from "./clocks";
import { Switch } from "./Switch";
import type { StateStore } from "./state";

interface ClockSwitchProps {
  document: Document;
  store: StateStore;
}

/** Switches the clock of a document with sections of both; else nothing. */
export function ClockSwitch({ document, store: { state, onState } }: ClockSwitchProps) {
  const chosen = currentClock(document, state.clock);
  if (!chosen) return null;
  const choose = (clock: Clock) =>
    onState({ ...state, clock: clock === firstClock(document) ? undefined : clock });
  return <Switch label="Times" options={CLOCKS} chosen={chosen} onChoose={choose} />;
}
