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
