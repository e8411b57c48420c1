import { useEffect, useState } from "preact/hooks";
import { formatRoute, parseRoute, type Route } from "./route";

export type Navigate = (route: Route, mode?: "push" | "replace") => void;

const changes = new EventTarget();

/** Goes to a route; "replace" adds no entry to the history. */
export const navigate: Navigate = (route, mode = "push") => {
  const hash = formatRoute(route);
  if (hash === location.hash) return;
  if (mode === "push") history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
  changes.dispatchEvent(new Event("change"));
};

/** The current route. */
export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const update = () => setHash(location.hash);
    addEventListener("hashchange", update);
    addEventListener("popstate", update);
    changes.addEventListener("change", update);
    return () => {
      removeEventListener("hashchange", update);
      removeEventListener("popstate", update);
      changes.removeEventListener("change", update);
    };
  }, []);
  return parseRoute(hash);
}
