import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { Icon } from "../../components/Icon";
import { filterRuns } from "../runs/choice";

/** Rows of a list at once; typing filters. */
const MAX_ROWS = 200;

interface PickerProps<Item extends { name: string }> {
  /** Kind of item, e.g. "Run", "Process". */
  label: string;
  items: readonly Item[];
  chosen: string;
  /** Text without a selection. */
  placeholder: string;
  onPick(name: string): void;
  /** Content after a name. */
  mark?(item: Item): ComponentChildren;
}

/** A filterable list: type to filter, arrows to move, Enter to select. */
export function Picker<Item extends { name: string }>(props: PickerProps<Item>) {
  const { label, items, chosen, placeholder, onPick, mark } = props;
  const id = useId();
  const [open, setOpen] = useState(false);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const button = useRef<HTMLButtonElement>(null);
  const matches = filterRuns(items, text);
  const active = matches[Math.min(at, matches.length - 1)];
  // The visible rows follow the active one.
  const from = Math.max(0, Math.min(at - MAX_ROWS / 2, matches.length - MAX_ROWS));
  const visible = matches.slice(from, from + MAX_ROWS);

  const show = () => {
    setText("");
    setAt(
      Math.max(
        0,
        items.findIndex(({ name }) => name === chosen),
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
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
    const move = moves[event.key];
    if (move) setAt(Math.max(0, Math.min(matches.length - 1, at + move)));
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
          <bdi>{chosen || placeholder}</bdi>
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
            aria-activedescendant={active && `${id}-${matches.indexOf(active)}`}
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
            {visible.map((item, index) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the input has the keys
              // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus
              <div
                key={item.name}
                id={`${id}-${from + index}`}
                role="option"
                aria-selected={item === active}
                class={item.name === chosen ? "chosen" : ""}
                ref={(element) => {
                  if (item === active) element?.scrollIntoView({ block: "nearest" });
                }}
                onMouseDown={(event) => event.preventDefault()}
                onClick={() => pick(item.name)}
              >
                {item.name}
                {mark?.(item)}
              </div>
            ))}
            {matches.length === 0 && <p class="none">No {label.toLowerCase()} matches.</p>}
            {matches.length > visible.length && (
              <p class="none">
                {visible.length} of {matches.length} shown; type to filter.
              </p>
            )}
          </div>
        </div>
      )}
    </div>
  );
}
