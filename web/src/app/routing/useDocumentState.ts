import { useMemo } from "preact/hooks";
import type { DocumentState } from "../../components/state";
import { useApp } from "../context";
import { documentStateChanges, isOnlySearch, readDocumentState } from "./documentState";
import { navigate } from "./navigation";
import { formatRoute, updateQuery } from "./route";

/** State of the tables and trees of the page, kept in its address. */
export function useDocumentState(): [DocumentState, (next: DocumentState) => void] {
  const { route } = useApp();
  const address = formatRoute(route);
  return useMemo(() => {
    const state = readDocumentState(route.query);
    const change = (next: DocumentState) => {
      const changes = documentStateChanges(state, next);
      const mode = isOnlySearch(route.query, changes) ? "replace" : "push";
      navigate({ ...route, query: updateQuery(route.query, changes) }, mode);
    };
    return [state, change];
  }, [address]);
}
