import { useMemo } from "preact/hooks";
import type { Document } from "../document/types";
import { Headline } from "./Headline";
import { type Links, LinksContext, NO_LINKS } from "./links";
import { SectionNav } from "./SectionNav";
import { SectionView } from "./SectionView";
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

/** A whole document: the answer, the list of sections, the sections. */
export function DocumentView({ document, links, state, onState, nav = true }: DocumentViewProps) {
  const keeper = useMemo(
    () => (onState ? { state: state ?? {}, onState } : null),
    [state, onState],
  );
  const beside = nav && document.sections.length > 1;
  return (
    <LinksContext.Provider value={links ?? NO_LINKS}>
      <StateContext.Provider value={keeper}>
        <article class={`document ${beside ? "with-nav" : ""}`}>
          <Headline document={document} />
          {beside && <SectionNav sections={document.sections} />}
          <div class="sections">
            {document.sections.map((section) => (
              <SectionView key={section.id} section={section} />
            ))}
          </div>
        </article>
      </StateContext.Provider>
    </LinksContext.Provider>
  );
}
