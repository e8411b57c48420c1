import { LinksContext } from "../../components/links";
import type { Table } from "../../document/types";
import { LoadedContent } from "../layout/LoadedContent";
import { Details, TraceLink } from "./Details";
import { type RunContext, useAnswer, useLinks } from "./runContext";
import { TotalList } from "./TotalList";

/** A kernel: which operators launch it and how, where it is in the trace. */
export function KernelDetails({ context, name }: { context: RunContext; name: string }) {
  const launches = useAnswer<Table>(context, "table", {
    view: "kernel-launches",
    column: "name",
    equals: name,
  });
  return (
    <Details context={context} kind="Kernel" name={name}>
      <p class="details-links">
        <TraceLink context={context} name={name} />
      </p>
      <LinksContext.Provider value={useLinks(context)}>
        <h3>Launched by</h3>
        <LoadedContent loaded={launches} label="its launches">
          {(table) => (
            <TotalList table={table} by="operator" link="operator" unnamed="launch not recorded" />
          )}
        </LoadedContent>
      </LinksContext.Provider>
    </Details>
  );
}
