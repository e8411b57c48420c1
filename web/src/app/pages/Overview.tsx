import { DocumentView } from "../../components/DocumentView";
import type { Document } from "../../document/types";
import { Shown } from "../layout/Shown";
import { useDocumentState } from "../routing/useDocumentState";
import { type OfRun, useAnswer, useLinks } from "./ofRun";

/** The answer in a sentence, the findings, where a step goes. */
export function Overview({ of }: { of: OfRun }) {
  const loaded = useAnswer<Document>(of, "document", { page: "overview" });
  const links = useLinks(of);
  const [state, onState] = useDocumentState();
  return (
    <Shown loaded={loaded} what="the analysis">
      {(document) => (
        <DocumentView
          document={document}
          links={links}
          state={state}
          onState={onState}
          nav={false}
        />
      )}
    </Shown>
  );
}
