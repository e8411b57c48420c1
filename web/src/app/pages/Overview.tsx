import type { Document } from "../../document/types";
import { LoadedDocument } from "../layout/LoadedDocument";
import { type OfRun, useAnswer, useLinks } from "./ofRun";

/** The answer in a sentence, the findings, where a step goes. */
export function Overview({ of }: { of: OfRun }) {
  const loaded = useAnswer<Document>(of, "document", { page: "overview" });
  return <LoadedDocument loaded={loaded} what="the analysis" links={useLinks(of)} />;
}
