import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Client } from "../api/client";
import type { Cache } from "./api/cache";
import type { RunsAnswer } from "./api/types";
import type { Route } from "./routing/route";

/** Shared state of the app. */
export interface App {
  base: URL;
  client: Client;
  cache: Cache;
  route: Route;
  /** The runs; undefined until loaded. */
  listing: RunsAnswer | undefined;
  /** How often the connection to the server came back. */
  reconnections: number;
}

const AppContext = createContext<App | null>(null);
export const AppProvider = AppContext.Provider;

export function useApp(): App {
  const app = useContext(AppContext);
  if (!app) throw new Error("useApp needs an AppProvider around it");
  return app;
}
