import { LinksContext } from "../../components/links";
import type { Table } from "../../document/types";
import { LoadedContent } from "../layout/Shown";
import { Details, TraceLink } from "./Details";
import { type OfRun, useAnswer, useLinks } from "./ofRun";
import { TotalList } from "./TotalList";

/** A kernel: which operators launch it and how, where it is in the trace. */
export function KernelDetails({ of, name }: { of: OfRun; name: string }) {
  const launches = useAnswer<Table>(of, "table", {
    view: "kernel-launches",
    column: "name",
    equals: name,
  });
  return (
    <Details of={of} kind="Kernel" name={name}>
      <p class="details-links">
        <TraceLink of={of} name={name} />
      </p>
      <LinksContext.Provider value={useLinks(of)}>
        <h3>Launched by</h3>
        <LoadedContent loaded={launches} what="its launches">
          {(table) => (
            <TotalList
              table={table}
              by="operator"
              link="operator"
              unnamed="a launch that was not recorded"
            />
          )}
        </LoadedContent>
      </LinksContext.Provider>
    </Details>
  );
}
