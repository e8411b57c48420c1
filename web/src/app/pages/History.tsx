import { useState } from "preact/hooks";
import { NO_LINKS } from "../../components/links";
import type { Document } from "../../document/types";
import { useLoaded } from "../api/useLoaded";
import { useApp } from "../context";
import { ChangedBar } from "../layout/ChangedBar";
import { LoadedDocument } from "../layout/LoadedDocument";

/** History of a baseline: which commits changed the step time, and by how much. */
export function History({ name }: { name: string }) {
  const { listing } = useApp();
  const now = String(listing?.generation);
  const [version, setVersion] = useState(now);
  const loaded = useLoaded<Document>({ path: "history", params: { name }, version });
  return (
    <div class="comparison">
      {version !== now && <ChangedBar onShow={() => setVersion(now)} />}
      <LoadedDocument loaded={loaded} label="the history" links={NO_LINKS} />
    </div>
  );
}
