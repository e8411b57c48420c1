import type { Run } from "../api/types";
import { navigate } from "../routing/navigation";
import { type Query, type Route, updateQuery } from "../routing/route";
import { chosenPart, spansOf } from "../runs/choice";
import { Picker } from "./Picker";

/** Above this, the list can be filtered. */
const MAX_LISTED = 16;

/** Process and span, each where there is more than one. */
export function PartPickers({ run, route }: { run: Run; route: Extract<Route, { at: "run" }> }) {
  const { worker, span } = chosenPart(run, route.query);
  const workers = run.workers.map(({ name }) => name);
  const spans = spansOf(run, worker);
  // Another process or span is another recording: times and rows do not carry over.
  const choose = (part: Query) => {
    const query = Object.entries(route.query).filter(
      ([key]) => key.startsWith("sort.") || key === "group",
    );
    navigate({ ...route, query: updateQuery(Object.fromEntries(query), part) });
  };
  return (
    <>
      {workers.length > MAX_LISTED && (
        <Picker
          label="Process"
          items={run.workers}
          chosen={worker}
          placeholder="choose a process"
          onPick={(name) => choose({ worker: name })}
        />
      )}
      {workers.length <= MAX_LISTED && isChoice(workers, worker) && (
        <Choice
          label="Process"
          names={workers}
          chosen={worker}
          onChoose={(name) => choose({ worker: name })}
        />
      )}
      {spans.length > 0 && isChoice(spans, span) && (
        <Choice
          label="Span"
          names={spans}
          chosen={span}
          onChoose={(name) => choose({ worker, span: name })}
        />
      )}
    </>
  );
}

/** Whether to show a choice: several names, or one that does not exist. */
function isChoice(names: readonly string[], chosen: string): boolean {
  return names.length > 1 || (chosen !== "" && !names.includes(chosen));
}

interface ChoiceProps {
  label: string;
  names: readonly string[];
  chosen: string;
  onChoose(name: string): void;
}

function Choice({ label, names, chosen, onChoose }: ChoiceProps) {
  const isListed = names.includes(chosen);
  return (
    <label class="choice">
      <span class="picker-label">{label}</span>
      <select value={chosen} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
        {!isListed && <option value={chosen}>{chosen} (not found)</option>}
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
