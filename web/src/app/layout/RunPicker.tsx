import type { Run } from "../api/types";
import { Picker } from "./Picker";

interface RunPickerProps {
  /** Label, e.g. "Run", "Base". */
  label: string;
  runs: readonly Run[];
  chosen: string;
  onPick(name: string): void;
}

/** Picker of a run. */
export function RunPicker({ label, runs, chosen, onPick }: RunPickerProps) {
  return (
    <Picker
      label={label}
      items={runs}
      chosen={chosen}
      placeholder="choose a run"
      onPick={onPick}
      mark={(run) => run.growing && <span class="tag recording">in progress</span>}
    />
  );
}
