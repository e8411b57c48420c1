import type { ComponentChildren } from "preact";
import type { Document } from "../../document/types";
import { LoadedContent } from "../layout/LoadedContent";
import { Sections } from "../layout/Sections";
import { pageTitle } from "../routing/pageTitle";
import { type RunContext, useAnswer, useLinks } from "./runContext";

/** A page of the analysis: efficiency, memory, modules, distributed. */
export function DocumentPage({
  context,
  children,
}: {
  context: RunContext;
  children?: ComponentChildren;
}) {
  const { page, run } = context.route;
  const loaded = useAnswer<Document>(context, "document", { page });
  const links = useLinks(context);
  return (
    <LoadedContent loaded={loaded} label="the analysis">
      {(document) => (
        <Sections title={`${pageTitle(page)} of ${run}`} document={document} links={links}>
          {children}
        </Sections>
      )}
    </LoadedContent>
  );
}
