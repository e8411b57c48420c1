import type { Clock, Document } from "../document/types";
import { CLOCKS, currentClock, firstClock } from "./clocks";
import { Switch } from "./Switch";
import type { StateStore } from "./state";

interface ClockSwitchProps {
  document: Document;
  store: StateStore;
}

/** Chooses the clock of a document that has sections of both; otherwise there is nothing to see. */
export function ClockSwitch({ document, store: { state, onState } }: ClockSwitchProps) {
  const chosen = currentClock(document, state.clock);
  if (!chosen) return null;
  const choose = (clock: Clock) =>
    onState({ ...state, clock: clock === firstClock(document) ? undefined : clock });
  return <Switch label="Times" options={CLOCKS} chosen={chosen} onChoose={choose} />;
}
