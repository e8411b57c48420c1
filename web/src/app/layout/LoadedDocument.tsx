import { DocumentView } from "../../components/DocumentView";
import type { Links } from "../../components/links";
import type { Document } from "../../document/types";
import type { Loaded } from "../api/useLoaded";
import { useDocumentState } from "../routing/useDocumentState";
import { LoadedContent } from "./LoadedContent";

interface LoadedDocumentProps {
  loaded: Loaded<Document>;
  /** What is loading, e.g. "the analysis". */
  label: string;
  links: Links;
}

/** A whole document with its headline; its state is in the address. */
export function LoadedDocument({ loaded, label, links }: LoadedDocumentProps) {
  const [state, onState] = useDocumentState();
  return (
    <LoadedContent loaded={loaded} label={label}>
      {(document) => <DocumentView {...{ document, links, state, onState }} nav={false} />}
    </LoadedContent>
  );
}
