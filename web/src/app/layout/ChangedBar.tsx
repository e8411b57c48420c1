/** Says that there is something newer without taking away what one reads. */
export function ChangedBar({ onShow }: { onShow: () => void }) {
  return (
    <p class="notice-bar" role="status">
      The recording changed since this was read.
      <button type="button" class="button" onClick={onShow}>
        Show it
      </button>
    </p>
  );
}

/** Says that more is to come, so that nobody takes half of a recording for the whole. */
export function GrowingBar() {
  return (
    <p class="notice-bar" role="status">
      This is still being written: what is shown is what was there when it was read.
    </p>
  );
}
