import { useEffect, useMemo, useReducer, useState } from "preact/hooks";
import { type ApiError, asApiError } from "../../api/client";
import { DocumentView } from "../../components/DocumentView";
import { poll } from "../api/polling";
import type { WatchAnswer } from "../api/types";
import { useApp } from "../context";
import { ErrorMessage, ProgressMessage } from "../layout/LoadedContent";
import { linksOfWatch } from "../links";
import { useDocumentState } from "../routing/useDocumentState";
import { UnknownRun } from "./NotFound";

/** Polling interval: a watcher reports every second. */
const POLL_MS = 1500;

/** Label of the state of a watched program. */
export function stateLabel(state: string): string {
  return state === "" ? "unreadable" : state === "gone" ? "watcher stopped" : state;
}

/** Page of a watched program: step times and incidents. */
export function Watch({ name }: { name: string }) {
  const { client, listing } = useApp();
  const listed = listing?.watches.find((program) => program.name === name);
  const { answer, error, retry } = useWatch(name, listed?.state ?? "");
  const [state, onState] = useDocumentState();
  const incidents = JSON.stringify(answer?.incidents);
  const links = useMemo(() => answer && linksOfWatch(answer, client), [incidents, name, client]);
  if (!listed && !answer) return <UnknownRun name={name} />;
  if (!answer && error) return <ErrorMessage error={error} onRetry={retry} />;
  if (!answer || !links) return <ProgressMessage progress={null} label="the watcher" />;
  return (
    <div class="watch">
      {error && (
        <p class="notice-bar" role="alert">
          {error.message} {error.hint}
        </p>
      )}
      <DocumentView document={answer.document} {...{ links, state, onState }} nav={false} />
    </div>
  );
}

interface WatchState {
  answer?: WatchAnswer;
  /** Error of the last request; null without one. */
  error: ApiError | null;
}

/** Polls the watcher until it has ended; restarts when its state changes. */
function useWatch(name: string, state: string): WatchState & { retry: () => void } {
  const { client } = useApp();
  const [seen, setSeen] = useState<WatchState>({ error: null });
  const [attempt, retry] = useReducer((count: number, _: unknown) => count + 1, 0);
  useEffect(() => {
    const request = async (signal: AbortSignal) => {
      try {
        const answer = await client.json<WatchAnswer>("watch", { name }, { signal });
        if (!signal.aborted) setSeen({ answer, error: null });
        return answer.state !== "ended";
      } catch (error) {
        if (!signal.aborted) setSeen((previous) => ({ ...previous, error: asApiError(error) }));
        return true;
      }
    };
    return poll(request, POLL_MS);
  }, [client, name, state, attempt]);
  return { ...seen, retry: () => retry(null) };
}
