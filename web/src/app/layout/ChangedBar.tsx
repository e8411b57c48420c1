/** Says that there is something newer without taking away what one reads. */
export function ChangedBar({ onShow }: { onShow: () => void }) {
  return (
    <p class="notice-bar" role="status">
      The recording has changed since this page was loaded.
      <button type="button" class="button" onClick={onShow}>
        Reload
      </button>
    </p>
  );
}

/** Says that more is to come, so that nobody takes half of a recording for the whole. */
export function GrowingBar() {
  return (
    <p class="notice-bar" role="status">
      This run is still being recorded. The page shows what was written when it was loaded.
    </p>
  );
}
