import { useEffect, useRef } from "preact/hooks";
import { SHEET } from "./keys";

/** All keys on one sheet. */
export function KeySheet({ onClose }: { onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class="trace-keys"
      aria-label="Keys of the trace view"
      onClose={onClose}
      onKeyDown={(event) => {
        if (event.key === "?") onClose();
      }}
    >
      <h2>Keys</h2>
      <dl>
        {SHEET.map(([keys, what]) => (
          <div class="key" key={what}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit" class="button">
          Close
        </button>
      </form>
    </dialog>
  );
}
