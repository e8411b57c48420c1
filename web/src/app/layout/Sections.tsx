import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { ClockSwitch } from "../../components/ClockSwitch";
import { currentClock, sectionsOf } from "../../components/clocks";
import { type Links, LinksContext } from "../../components/links";
import { SectionList } from "../../components/SectionList";
import { StateContext } from "../../components/state";
import type { Document } from "../../document/types";
import { useDocumentState } from "../routing/useDocumentState";

interface SectionsProps {
  /** Heading for screen readers. */
  title: string;
  document: Document;
  links: Links;
  /** Content beside the subject, e.g. a switch. */
  children?: ComponentChildren;
}

/** Sections of a document below its subject, without its headline. */
export function Sections({ title, document, links, children }: SectionsProps) {
  const [state, onState] = useDocumentState();
  const store = useMemo(() => ({ state, onState }), [state, onState]);
  const sections = sectionsOf(document, currentClock(document, state.clock));
  return (
    <LinksContext.Provider value={links}>
      <StateContext.Provider value={store}>
        <article class="document">
          <header class="page-head">
            <h1 class="visually-hidden">{title}</h1>
            <p class="quiet">{document.subject}</p>
            <ClockSwitch document={document} store={store} />
            {children}
          </header>
          <SectionList document={document} sections={sections} />
        </article>
      </StateContext.Provider>
    </LinksContext.Provider>
  );
}
