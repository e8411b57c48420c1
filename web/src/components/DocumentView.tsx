import { useMemo, useState } from "preact/hooks";
import type { Document } from "../document/types";
import { ClockSwitch } from "./ClockSwitch";
import { currentClock, sectionsOf } from "./clocks";
import { Headline } from "./Headline";
import { type Links, LinksContext, NO_LINKS } from "./links";
import { SectionList } from "./SectionList";
import { SectionNav } from "./SectionNav";
import { type DocumentState, StateContext } from "./state";

export interface DocumentViewProps {
  document: Document;
  links?: Links;
  /** Given together with `onState` where the state is kept outside. */
  state?: DocumentState;
  onState?: (state: DocumentState) => void;
  /** Whether to list the sections beside; pages of the app have their own navigation. */
  nav?: boolean;
}

/** A document: headline, list of sections, sections. */
export function DocumentView({ document, links, state, onState, nav = true }: DocumentViewProps) {
  const [localState, setLocalState] = useState<DocumentState>({});
  const store = useMemo(() => (onState ? { state: state ?? {}, onState } : null), [state, onState]);
  const current = store ?? { state: localState, onState: setLocalState };
  const clock = currentClock(document, current.state.clock);
  const sections = useMemo(() => sectionsOf(document, clock), [document, clock]);
  const beside = nav && sections.length > 1;
  return (
    <LinksContext.Provider value={links ?? NO_LINKS}>
      <StateContext.Provider value={store}>
        <article class={`document ${beside ? "with-nav" : ""}`}>
          <Headline document={document}>
            <ClockSwitch document={document} store={current} />
          </Headline>
          {beside && <SectionNav sections={sections} />}
          <SectionList document={document} sections={sections} />
        </article>
      </StateContext.Provider>
    </LinksContext.Provider>
  );
}
