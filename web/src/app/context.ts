import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Client } from "../api/client";
import type { Cache } from "./api/cache";
import type { RunsAnswer } from "./api/types";
import type { Route } from "./routing/route";

/** What every part of the app may need. */
export interface App {
  base: URL;
  client: Client;
  cache: Cache;
  route: Route;
  /** What is below the served folder; undefined until it is known. */
  listing: RunsAnswer | undefined;
  /** How often the server was found again after it had not answered. */
  reconnections: number;
}

const AppContext = createContext<App | null>(null);
export const AppProvider = AppContext.Provider;

export function useApp(): App {
  const app = useContext(AppContext);
  if (!app) throw new Error("useApp needs an AppProvider around it");
  return app;
}
