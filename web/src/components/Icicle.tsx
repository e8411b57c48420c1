import { useMemo, useRef, useState } from "preact/hooks";
import type { Icicle as IcicleBlock } from "../document/types";
import { AsTable } from "./AsTable";
import { Caption } from "./Caption";
import { Icon } from "./Icon";
import { figuresOf, icicleTable, nameOf } from "./icicle/description";
import { drawIcicle, ROW, viewRange } from "./icicle/drawing";
import { layoutTree, neighbour, nodeAt, pathTo } from "./icicle/layout";
import { useBlockState } from "./state";
import { useDrawing } from "./useDrawing";

const KEYS = "Arrow keys move between bars, Enter zooms in, Escape zooms out.";

/** A tree as nested bars, with a table; a click zooms to a bar. */
export function Icicle({ block }: { block: IcicleBlock }) {
  const [state, setState] = useBlockState("icicles", block.id);
  const layout = useMemo(() => layoutTree(block), [block]);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [current, setCurrent] = useState(-1);
  const inTree = state.node !== undefined && state.node < block.parent.length;
  const zoomed = inTree ? (state.node as number) : -1;
  const search = state.search ?? "";
  useDrawing(canvas, () => {
    const view = { zoomed, current, search: search.toLowerCase() };
    if (canvas.current) drawIcicle(canvas.current, block, layout, view);
  });
  const zoom = (node: number) => setState({ ...state, node: node < 0 ? undefined : node });
  const nodeUnder = (event: MouseEvent) => {
    const [from, to] = viewRange(layout, zoomed);
    const part = event.offsetX / (canvas.current?.clientWidth || 1);
    return nodeAt(layout, from + part * (to - from), Math.floor(event.offsetY / ROW));
  };
  const key = (event: KeyboardEvent) => {
    if (event.key.startsWith("Arrow")) {
      setCurrent(current < 0 ? Math.max(zoomed, 0) : neighbour(block, layout, current, event.key));
    } else if (event.key === "Enter" && current >= 0) zoom(current);
    else if (event.key === "Escape") zoom(zoomed >= 0 ? (block.parent[zoomed] ?? -1) : -1);
    else return;
    event.preventDefault();
  };
  const focusedNode = current >= 0 ? current : zoomed;
  return (
    <figure class="icicle">
      <Caption title={block.title} />
      <div class="toolbar">
        <Breadcrumb block={block} zoomed={zoomed} onZoom={zoom} />
        <span class="room" />
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
      </div>
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: the keys go through the tree */}
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label={`${block.title || "Tree"}. ${KEYS} The table below has the same figures.`}
        style={{ height: `${layout.depths * ROW}px` }}
        onMouseMove={(event) => setCurrent(nodeUnder(event))}
        onMouseLeave={() => setCurrent(-1)}
        onClick={(event) => {
          const node = nodeUnder(event);
          if (node >= 0) zoom(node === zoomed ? (block.parent[node] ?? -1) : node);
        }}
        onKeyDown={key}
      />
      <p class="readout" aria-live="polite">
        {focusedNode >= 0 ? (
          <NodeReadout block={block} node={focusedNode} />
        ) : (
          `The width of a bar is its time. Click a bar to zoom in. ${KEYS}`
        )}
      </p>
      <AsTable summary="The tree as a table" make={() => icicleTable(block)} of={block} />
    </figure>
  );
}

function NodeReadout({ block, node }: { block: IcicleBlock; node: number }) {
  return (
    <>
      <b>{nameOf(block, node)}</b>
      {figuresOf(block, node).map(([title, text]) => (
        <span key={title + text}>
          {title} {text}
        </span>
      ))}
    </>
  );
}

function Breadcrumb(props: { block: IcicleBlock; zoomed: number; onZoom: (node: number) => void }) {
  const { block, zoomed, onZoom } = props;
  return (
    <nav class="breadcrumb" aria-label="Place in the tree">
      <button type="button" disabled={zoomed < 0} onClick={() => onZoom(-1)}>
        all
      </button>
      {pathTo(block.parent, zoomed).map((node) => (
        <button key={node} type="button" disabled={node === zoomed} onClick={() => onZoom(node)}>
          {nameOf(block, node)}
        </button>
      ))}
    </nav>
  );
}
