import type { Document } from "../../document/types";
import { LoadedDocument } from "../layout/LoadedDocument";
import { type RunContext, useAnswer, useLinks } from "./runContext";

/** The answer in a sentence, the findings, where a step goes. */
export function Overview({ context }: { context: RunContext }) {
  const loaded = useAnswer<Document>(context, "document", { page: "overview" });
  return <LoadedDocument loaded={loaded} label="the analysis" links={useLinks(context)} />;
}
