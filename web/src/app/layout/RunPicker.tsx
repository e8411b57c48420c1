import { useId, useRef, useState } from "preact/hooks";
import { Icon } from "../../components/Icon";
import type { Run } from "../api/types";
import { filterRuns } from "../runs/choice";

interface RunPickerProps {
  /** What is picked, e.g. "Run", "Base". */
  label: string;
  runs: readonly Run[];
  chosen: string;
  onPick(name: string): void;
}

/** A run out of many: type to narrow the list, arrows to move, Enter to take. */
export function RunPicker({ label, runs, chosen, onPick }: RunPickerProps) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const button = useRef<HTMLButtonElement>(null);
  const found = filterRuns(runs, text);
  const active = found[Math.min(at, found.length - 1)];

  const show = () => {
    setText("");
    setAt(
      Math.max(
        0,
        runs.findIndex(({ name }) => name === chosen),
      ),
    );
    setOpen(true);
  };
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const pick = (name: string) => {
    close();
    onPick(name);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    const move = moves[event.key];
    if (move) setAt(Math.max(0, Math.min(found.length - 1, at + move)));
    else if (event.key === "Enter" && active) pick(active.name);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  };

  return (
    <div
      class="picker"
      onFocusOut={({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget as Node | null)) setOpen(false);
      }}
    >
      <button
        ref={button}
        type="button"
        class="picker-button"
        aria-haspopup="listbox"
        aria-expanded={open}
        aria-label={`${label}: ${chosen || "choose"}`}
        title={chosen}
        onClick={() => (open ? setOpen(false) : show())}
      >
        <span class="picker-label">{label}</span>
        <span class={`picker-value ${chosen ? "" : "empty"}`}>
          <bdi>{chosen || "choose a run"}</bdi>
        </span>
        <Icon name="down" size={12} />
      </button>
      {open && (
        <div class="picker-panel">
          <input
            class="input"
            type="text"
            role="combobox"
            aria-label={`${label}: type to filter`}
            aria-expanded="true"
            aria-controls={`${id}-list`}
            aria-activedescendant={active && `${id}-${found.indexOf(active)}`}
            autocomplete="off"
            placeholder="Type to filter"
            value={text}
            ref={(input) => input?.focus()}
            onInput={({ currentTarget }) => {
              setText(currentTarget.value);
              setAt(0);
            }}
            onKeyDown={onKeyDown}
          />
          <div class="options" id={`${id}-list`} role="listbox" aria-label={label}>
            {found.map((run, index) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the input has the keys
              // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus
              <div
                key={run.name}
                id={`${id}-${index}`}
                role="option"
                aria-selected={run === active}
                class={run.name === chosen ? "chosen" : ""}
                ref={(item) => {
                  if (run === active) item?.scrollIntoView({ block: "nearest" });
                }}
                onMouseDown={(event) => event.preventDefault()}
                onClick={() => pick(run.name)}
              >
                {run.name}
                {run.growing && <span class="tag recording">recording</span>}
              </div>
            ))}
            {found.length === 0 && <p class="none">No run has this in its name.</p>}
          </div>
        </div>
      )}
    </div>
  );
}
