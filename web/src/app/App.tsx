import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { createClient } from "../api/client";
import { Cache } from "./api/cache";
import { AppProvider } from "./context";
import { useFocusOnHeading } from "./layout/focus";
import { Header } from "./layout/Header";
import { Help } from "./layout/Help";
import { useKeys } from "./layout/keyboard";
import { ErrorMessage, ProgressMessage } from "./layout/LoadedContent";
import { Compare } from "./pages/Compare";
import { History } from "./pages/History";
import { Home } from "./pages/Home";
import { NotFound } from "./pages/NotFound";
import { RunPage } from "./pages/RunPage";
import { Watch } from "./pages/Watch";
import { keepPlace } from "./routing/frame";
import { useRoute } from "./routing/navigation";
import { placeOf, type Route } from "./routing/route";
import { titleOf } from "./routing/title";
import { useRuns } from "./runs/useRuns";

/** The app: header, the page of the address, and connection errors. */
export function App({ base }: { base: URL }) {
  const client = useMemo(() => createClient(base), [base]);
  const cache = useMemo(() => new Cache(), []);
  const route = useRoute();
  const { listing, error, reconnections, retry } = useRuns(client);
  const [helping, setHelping] = useState(false);
  const main = useRef<HTMLElement>(null);
  const onTrace = route.at === "run" && route.page === "trace";

  useFocusOnHeading(main, placeOf(route));
  useKeys(
    useCallback(() => setHelping(true), []),
    onTrace,
  );
  useEffect(() => {
    document.title = titleOf(route);
    keepPlace(location.hash);
  });

  return (
    <AppProvider value={{ base, client, cache, route, listing, reconnections }}>
      <div class={`app ${onTrace ? "fills" : ""}`}>
        <button type="button" class="skip button" onClick={() => main.current?.focus()}>
          Skip to content
        </button>
        <Header onHelp={() => setHelping(true)} />
        {error && listing && (
          <p class="notice-bar lost" role="alert">
            {error.message} {error.hint}
          </p>
        )}
        <main ref={main} tabIndex={-1}>
          {listing && <Page route={route} />}
          {!listing && !error && <ProgressMessage progress={null} label="the list of runs" />}
          {!listing && error && <ErrorMessage error={error} onRetry={retry} />}
        </main>
        <Help open={helping} onClose={() => setHelping(false)} />
      </div>
    </AppProvider>
  );
}

function Page({ route }: { route: Route }) {
  switch (route.at) {
    case "home":
      return <Home />;
    case "compare":
      return <Compare />;
    case "history":
      return <History key={route.name} name={route.name} />;
    case "watch":
      return <Watch key={route.name} name={route.name} />;
    case "run":
      return <RunPage route={route} />;
    case "unknown":
      return <NotFound path={route.path} />;
  }
}
