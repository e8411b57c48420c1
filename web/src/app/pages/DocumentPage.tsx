import type { ComponentChildren } from "preact";
import type { Document } from "../../document/types";
import { Sections } from "../layout/Sections";
import { LoadedContent } from "../layout/Shown";
import { pageTitle } from "../routing/pageTitle";
import { type OfRun, useAnswer, useLinks } from "./ofRun";

/** A page of the analysis as the server wrote it: efficiency, memory, modules, workers. */
export function DocumentPage({ of, children }: { of: OfRun; children?: ComponentChildren }) {
  const { page, run } = of.route;
  const loaded = useAnswer<Document>(of, "document", { page });
  const links = useLinks(of);
  return (
    <LoadedContent loaded={loaded} what="the analysis">
      {(document) => (
        <Sections title={`${pageTitle(page)} of ${run}`} document={document} links={links}>
          {children}
        </Sections>
      )}
    </LoadedContent>
  );
}
