import { ApiError } from "../api/client";
import type { Progress } from "../api/types";

/** An error with its hint and a retry. */
export function ErrorNotice({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  const hint = error instanceof ApiError ? error.hint : "";
  return (
    <div class="trace-error" role="alert">
      <p>{error.message}</p>
      {hint && <p class="hint">{hint}</p>}
      {onRetry && (
        <button type="button" class="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Progress of the server. */
export function ProgressNotice({ progress }: { progress: Progress | null }) {
  const share = progress?.share ?? null;
  return (
    <div class="trace-waiting" role="status">
      <p>{progress ? `The server is ${progress.doing}` : "Opening the timeline"} …</p>
      <progress aria-label="Progress" {...(share === null ? {} : { value: share, max: 1 })} />
    </div>
  );
}
