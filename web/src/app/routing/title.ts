import { pageTitle } from "./pageTitle";
import type { Route } from "./route";

/** Title of the browser window. */
export function titleOf(route: Route): string {
  switch (route.at) {
    case "home":
      return "Runs · timesink";
    case "run":
      return `${pageTitle(route.page)} · ${route.run} · timesink`;
    case "compare": {
      const { base, new: second, ab } = route.query;
      if (ab) return `${ab} · timesink`;
      return base && second ? `${base} → ${second} · timesink` : "Compare · timesink";
    }
    case "history":
      return `@${route.name} · timesink`;
    case "watch":
      return `Watch · ${route.name} · timesink`;
    case "unknown":
      return "Page not found · timesink";
  }
}
