import { Icon } from "../../components/Icon";
import { LinksContext } from "../../components/links";
import type { Table } from "../../document/types";
import { LoadedContent } from "../layout/LoadedContent";
import { runHref } from "../routing/route";
import { CallStacks } from "./CallStacks";
import { Details, TraceLink } from "./Details";
import { type RunContext, useAnswer, useLinks } from "./runContext";
import { TotalList } from "./TotalList";

/** An operator: its kernels, who calls it, where it is in the trace. */
export function OperatorDetails({
  context,
  name,
  dims,
}: {
  context: RunContext;
  name: string;
  dims: string;
}) {
  const kernels = useAnswer<Table>(context, "table", {
    view: "kernel-launches",
    column: "operator",
    equals: name,
  });
  const stacks = useAnswer<Table>(context, "stacks", { operator: name, dims });
  const links = useLinks(context);
  const kernelsPage = runHref(context.run.name, "kernels", context.route.query, {
    "find.kernel-launches": name,
  });
  return (
    <Details context={context} kind="Operator" name={name}>
      {dims && <p class="quiet mono">{dims}</p>}
      <p class="details-links">
        <TraceLink context={context} name={name} />
        <a class="button" href={kernelsPage}>
          <Icon name="link" />
          Show on the Kernels page
        </a>
      </p>
      <LinksContext.Provider value={links}>
        <h3>Launched kernels</h3>
        <LoadedContent loaded={kernels} label="its kernels">
          {(table) =>
            table.rows ? (
              <TotalList table={table} by="short_name" link="kernel" unnamed="unnamed" />
            ) : (
              <p class="quiet">None directly. Operators it calls may launch kernels.</p>
            )
          }
        </LoadedContent>
        <h3>Call stacks</h3>
        <LoadedContent loaded={stacks} label="its call stacks">
          {(table) => <CallStacks table={table} />}
        </LoadedContent>
      </LinksContext.Provider>
    </Details>
  );
}
