/** Offers a newer version without replacing the one being read. */
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

/** Notice that the recording is not complete. */
export function GrowingBar() {
  return (
    <p class="notice-bar" role="status">
      This run is still being recorded. The page shows what was written when it was loaded.
    </p>
  );
}
