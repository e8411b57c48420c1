import { Switch } from "../../components/Switch";
import type { Document } from "../../document/types";
import { useLoaded } from "../api/useLoaded";
import { LoadedDocument } from "../layout/LoadedDocument";
import { navigate } from "../routing/navigation";
import { updateQuery } from "../routing/route";
import { DocumentPage } from "./DocumentPage";
import { KernelDetails } from "./KernelDetails";
import { type RunContext, useLinks } from "./runContext";

const SOURCES = [
  ["timeline", "Timeline"],
  ["utilisation", "Utilisation"],
] as const;

/** Kernels of the timeline or, with counters, their utilisation of the device. */
export function Kernels({ context }: { context: RunContext }) {
  const { run, route } = context;
  const { open = "" } = route.query;
  const counted = run.counters.length > 0 && (!run.timeline || route.query.show === "utilisation");
  const choose = (show: string) => {
    const changes = { show: show === "utilisation" ? show : "", open: "" };
    navigate({ ...route, query: updateQuery(route.query, changes) });
  };
  const source = run.timeline && run.counters.length > 0 && (
    <Switch
      label="Show"
      options={SOURCES}
      chosen={counted ? "utilisation" : "timeline"}
      onChoose={choose}
    />
  );
  if (counted) {
    return (
      <>
        {source && <div class="page-head">{source}</div>}
        <Utilisation context={context} />
      </>
    );
  }
  return (
    <div class={open ? "with-details" : ""}>
      <DocumentPage context={context}>{source}</DocumentPage>
      {open && <KernelDetails context={context} name={open} />}
    </div>
  );
}

/** Counters of Nsight Compute for the kernels of this run. */
function Utilisation({ context }: { context: RunContext }) {
  const { run, version } = context;
  const loaded = useLoaded<Document>({ path: "utilisation", params: { run: run.name }, version });
  return <LoadedDocument loaded={loaded} label="the counters" links={useLinks(context)} />;
}
