import { useContext, useMemo, useRef, useState } from "preact/hooks";
import type { Kind, Tree as TreeBlock, TreeSide } from "../document/types";
import { format, formatSigned } from "../format/format";
import { Caption } from "./Caption";
import { Icon } from "./Icon";
import { type Links, LinksContext } from "./links";
import { useBlockState } from "./state";
import { Marked } from "./table/Cell";
import { roomForTail, splitName } from "./table/names";
import {
  moveForKey,
  nameOf,
  type State,
  stateOf,
  type VisibleNode,
  visibleNodes,
} from "./tree/rows";

const STATES: Record<State, { mark: string; meaning: string }> = {
  added: { mark: "+", meaning: "only in new" },
  removed: { mark: "−", meaning: "only in base" },
  changed: { mark: "~", meaning: "changed: number of calls, or calls below" },
  varies: { mark: "?", meaning: "varies from step to step" },
  same: { mark: "", meaning: "unchanged" },
};
/** Figures of each side that are shown: calls, device time. */
const FIGURES = 2;
const KEYS = "Arrow keys move between rows, collapse and expand.";

/** Call trees of base and new as one: a row per node, collapsed where both are equal. */
export function Tree({ block }: { block: TreeBlock }) {
  const [state, setState] = useBlockState("tables", block.id);
  const links = useContext(LinksContext);
  const body = useRef<HTMLTableSectionElement>(null);
  const [toggled, setToggled] = useState<ReadonlySet<number>>(new Set());
  const [onlyDifferences, setOnlyDifferences] = useState(false);
  const [current, setCurrent] = useState(0);
  const search = state.search ?? "";
  const visible = useMemo(
    () => visibleNodes(block, { toggled, search: search.toLowerCase(), onlyDifferences }),
    [block, toggled, search, onlyDifferences],
  );
  const sides = useMemo(() => [block.base, block.new].map(withMainFigures), [block]);
  const present = useMemo(() => new Set(block.depth.map((_, at) => stateOf(block, at))), [block]);
  const placed = useMemo(() => hasPlaces(block, links), [block, links]);
  const stop = visible.some(({ node }) => node === current) ? current : visible[0]?.node;
  const turn = (node: number) => {
    const next = new Set(toggled);
    if (!next.delete(node)) next.add(node);
    setToggled(next);
  };
  const key = (event: KeyboardEvent) => {
    // In a link, Enter follows it.
    if (event.key === "Enter" && (event.target as Element).closest("a")) return;
    const at = visible.findIndex(({ node }) => node === stop);
    const move = moveForKey(block, visible, at, event.key);
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (move.turn) turn(move.node);
    setCurrent(move.node);
    body.current?.querySelector<HTMLElement>(`[data-node="${move.node}"]`)?.focus();
  };
  const missing = block.total - visibleNodes(block, INITIAL_VIEW).length;
  return (
    <figure class="tree">
      <Caption title={block.title} />
      <div class="toolbar">
        <label class="search">
          <Icon name="search" size={14} />
          <span class="visually-hidden">Search in {block.title || "the tree"}</span>
          <input
            type="search"
            class="input"
            placeholder="Search"
            value={search}
            onInput={(event) =>
              setState({ ...state, search: event.currentTarget.value || undefined })
            }
          />
        </label>
        <label class="only">
          <input
            type="checkbox"
            checked={onlyDifferences}
            onChange={(event) => setOnlyDifferences(event.currentTarget.checked)}
          />
          Only differences
        </label>
        <span class="room" />
        <Legend present={present} />
      </div>
      <div class="rows-of-tree">
        {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the keys go through the tree */}
        <table role="treegrid" aria-label={`${block.title || "Tree"}. ${KEYS}`} onKeyDown={key}>
          <thead>
            <Heads sides={sides} placed={placed} />
          </thead>
          <tbody ref={body}>
            {visible.map((row) => (
              <Row
                key={row.node}
                block={block}
                sides={sides}
                row={row}
                search={search.toLowerCase()}
                stop={row.node === stop}
                links={placed ? links : null}
                onTurn={() => {
                  setCurrent(row.node);
                  turn(row.node);
                }}
                onFocus={() => setCurrent(row.node)}
              />
            ))}
          </tbody>
        </table>
        {!visible.length && (
          <p class="empty">
            {search
              ? "No call matches the search."
              : "No differences: both programs make the same calls."}
          </p>
        )}
      </div>
      {missing > 0 && <p class="table-note">{missing} more rows are not shown.</p>}
    </figure>
  );
}

const INITIAL_VIEW = { toggled: new Set<number>(), search: "", onlyDifferences: false };

/** Kind of a number: means over steps are mostly integers. */
function integerKind(kind: Kind, value: number | null | undefined): Kind {
  return kind === "number" && Number.isInteger(value) ? "count" : kind;
}

/** A side with its main figures only. */
function withMainFigures(side: TreeSide): TreeSide {
  return { ...side, details: side.details.slice(0, FIGURES) };
}

function hasPlaces(block: TreeBlock, links: Links): boolean {
  return (["base", "new"] as const).some((side) => {
    const moment = block[side].moments_ns.find((moment_ns) => moment_ns !== null);
    return moment != null && links.hrefOfMoment(side, moment, "") !== null;
  });
}

function Legend({ present }: { present: Set<State> }) {
  const states = (Object.keys(STATES) as State[]).filter(
    (state) => state !== "same" && present.has(state),
  );
  return (
    <ul class="legend">
      {states.map((state) => (
        <li key={state}>
          <span class={`mark state-${state}`}>{STATES[state].mark}</span> {STATES[state].meaning}
        </li>
      ))}
    </ul>
  );
}

function Heads({ sides, placed }: { sides: TreeSide[]; placed: boolean }) {
  return (
    <>
      <tr>
        <th scope="col" rowSpan={2}>
          call
        </th>
        {sides.map(({ label, details }) => (
          <th key={label} scope="colgroup" colSpan={details.length} class="side" title={label}>
            {label}
          </th>
        ))}
        <th scope="col" rowSpan={2} class="number change">
          {sides[0]?.details.at(-1)?.title} change
        </th>
        {placed && (
          <th scope="col" rowSpan={2}>
            timeline
          </th>
        )}
      </tr>
      <tr>
        {sides.flatMap(({ label, details }) =>
          details.map(({ title }) => (
            <th key={label + title} scope="col" class="number">
              {title}
            </th>
          )),
        )}
      </tr>
    </>
  );
}

interface RowProps {
  block: TreeBlock;
  sides: TreeSide[];
  row: VisibleNode;
  search: string;
  /** Whether the Tab key stops here. */
  stop: boolean;
  /** Where moments lead; null where they lead nowhere. */
  links: Links | null;
  onTurn: () => void;
  onFocus: () => void;
}

function Row({ block, sides, row, search, stop, links, onTurn, onFocus }: RowProps) {
  const { node, open } = row;
  const [name, state] = [nameOf(block, node), stateOf(block, node)];
  const [head, tail] = splitName(name);
  const folded = block.folded[node] ?? 0;
  const last = sides.map(({ details }) => details.at(-1));
  const change = (last[1]?.values[node] ?? 0) - (last[0]?.values[node] ?? 0);
  const words = search ? [search] : [];
  return (
    <tr
      class={`state-${state}`}
      data-node={node}
      aria-level={(block.depth[node] ?? 0) + 1}
      aria-expanded={open}
      tabIndex={stop ? 0 : -1}
      onFocus={onFocus}
    >
      <th scope="row" title={name} style={{ "--depth": block.depth[node] ?? 0 }}>
        <span class="call">
          {open === undefined ? (
            <span class="turn" />
          ) : (
            <button
              type="button"
              class="turn"
              tabIndex={-1}
              onClick={onTurn}
              aria-label={open ? `Collapse ${name}` : `Expand ${name}`}
            >
              <Icon name="down" size={12} />
            </button>
          )}
          <span class="mark" aria-hidden="true">
            {STATES[state].mark}
          </span>
          <span class="name" style={roomForTail(tail)}>
            <span class="head">
              <Marked text={head} words={words} />
            </span>
            <Marked text={tail} words={words} />
          </span>
          <span class="visually-hidden">, {STATES[state].meaning}</span>
          {!open && folded > 0 && (
            <span class="folded" title={`${folded} call sites below`}>
              {folded}
              <span class="visually-hidden"> call sites below</span>
            </span>
          )}
        </span>
      </th>
      {sides.flatMap(({ label, details }, side) => {
        const absent = (side === 0 && state === "added") || (side === 1 && state === "removed");
        return details.map(({ title, kind, values }, at) => {
          const other = sides[1 - side]?.details[at]?.values[node];
          const differs = at === 0 && values[node] !== other;
          return (
            <td key={label + title} class={`number ${differs ? "differs" : ""}`}>
              {absent ? "" : format(integerKind(kind, values[node]), values[node])}
            </td>
          );
        });
      })}
      <td class="number change">
        {state === "same" || !last[0] || !change ? "" : formatSigned(last[0].kind, change)}
      </td>
      {links && (
        <td class="places">
          {(["base", "new"] as const).map((side) => {
            const moment = block[side].moments_ns[node] ?? null;
            const href = moment === null ? null : links.hrefOfMoment(side, moment, name);
            if (!href) return null;
            const about = `${name} in the timeline of ${block[side].label}`;
            return (
              <a key={side} href={href} tabIndex={stop ? 0 : -1} title={about} aria-label={about}>
                {side}
              </a>
            );
          })}
        </td>
      )}
    </tr>
  );
}
