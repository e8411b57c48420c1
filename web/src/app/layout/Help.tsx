import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../../components/Icon";
import { useApp } from "../context";
import { isFramed } from "../routing/frame";

const KEYS: [keys: string[], does: string][] = [
  [["?"], "show this help"],
  [["/"], "go to the search box"],
  [["Esc"], "close details, menus and this help"],
  [["Tab"], "move between links, tables and buttons; Enter opens"],
];
const TRACE_KEYS: [keys: string[], does: string][] = [
  [["W", "S"], "zoom in and out"],
  [["A", "D"], "move left and right"],
  [["F"], "zoom to the selected slice"],
  [["/"], "search in the trace"],
  [["?"], "all keys of the trace view"],
];

/** Keyboard help. */
export function Help({ open, onClose }: { open: boolean; onClose: () => void }) {
  const { listing } = useApp();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <dialog ref={dialog} class="key-help" aria-labelledby="help-title" onClose={onClose}>
      <header>
        <h2 id="help-title">Keys</h2>
        <button type="button" class="icon-button" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <Keys rows={KEYS} />
      <h3>In the trace</h3>
      <Keys rows={TRACE_KEYS} />
      <p class="quiet">
        The page address holds the current view: copy it to share the view
        {isFramed() && ", from a new window (the arrow above)"}. Operators, kernels, modules and
        times link to each other.
      </p>
      {listing && <p class="quiet">timesink {listing.version}</p>}
    </dialog>
  );
}

function Keys({ rows }: { rows: typeof KEYS }) {
  return (
    <dl class="keys">
      {rows.map(([keys, does]) => (
        <div key={does}>
          <dt>
            {keys.map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{does}</dd>
        </div>
      ))}
    </dl>
  );
}
