import { Switch } from "../../components/Switch";
import type { Block, Document, Table } from "../../document/types";
import type { Loaded } from "../api/useLoaded";
import { ErrorMessage, LoadedContent, ProgressMessage } from "../layout/LoadedContent";
import { Sections } from "../layout/Sections";
import { navigate } from "../routing/navigation";
import { updateQuery } from "../routing/route";
import { OperatorDetails } from "./OperatorDetails";
import { type RunContext, useAnswer, useLinks } from "./runContext";

const GROUPS = [
  ["name", "Name"],
  ["shape", "Shapes"],
  ["stack", "Call stack"],
] as const;

/** Operators by name, by shapes or by call stack, with details of the one that is open. */
export function Operators({ context }: { context: RunContext }) {
  const { route } = context;
  const { open = "", dims = "" } = route.query;
  const group = GROUPS.map(([name]) => name).find((name) => name === route.query.group) ?? "name";
  const page = useAnswer<Document>(context, "document", { page: "operators" });
  const other = group === "name" ? null : { view: "operators", group_by: group };
  const grouped = useAnswer<Table>(context, "table", other);
  const links = useLinks(context);
  const choose = (name: string) => {
    const changes = { group: name === "name" ? "" : name, open: "", dims: "" };
    navigate({ ...route, query: updateQuery(route.query, changes) });
  };
  return (
    <div class={open ? "with-details" : ""}>
      <div>
        <LoadedContent loaded={page} label="the operators">
          {(document) => (
            <Sections
              title={`Operators of ${route.run}`}
              document={other ? withTable(document, grouped.value) : document}
              links={links}
            >
              <Switch label="Group by" options={GROUPS} chosen={group} onChoose={choose} />
              {other && <Pending loaded={grouped} />}
            </Sections>
          )}
        </LoadedContent>
      </div>
      {open && <OperatorDetails context={context} name={open} dims={dims} />}
    </div>
  );
}

function Pending({ loaded }: { loaded: Loaded<Table> }) {
  if (loaded.error) return <ErrorMessage error={loaded.error} onRetry={loaded.retry} />;
  return loaded.loading ? (
    <ProgressMessage progress={loaded.progress} label="the operators" />
  ) : null;
}

/** The document with a regrouped table of operators; without a table until that is loaded. */
export function withTable(document: Document, table: Table | undefined): Document {
  const isOperators = (block: Block) => block.type === "table" && block.id === "operators";
  const sections = document.sections.map((section) => ({
    ...section,
    blocks: section.blocks.flatMap((block) => {
      if (!isOperators(block)) return [block];
      return table ? [table] : [];
    }),
  }));
  return { ...document, sections };
}
