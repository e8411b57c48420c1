import { useContext, useMemo, useRef, useState } from "preact/hooks";
import type { Heatmap as HeatmapBlock } from "../document/types";
import { format } from "../format/format";
import { AsTable } from "./AsTable";
import { Caption } from "./Caption";
import { cellText, heatTable, summary } from "./heatmap/description";
import { drawHeat } from "./heatmap/drawing";
import { type Cell, cellAfter, cellAt, type HeatLayout, largest, NO_CELL } from "./heatmap/layout";
import { LinksContext } from "./links";
import { useDrawing } from "./useDrawing";

const KEYS = "Arrow keys move between cells.";
/** Labelled values of the scale, as shares of the largest; the scale is a square root. */
const TICKS = [0, 0.25, 1];

/** Rows x columns of numbers as colours; the current cell is read out below. */
export function Heatmap({ block }: { block: HeatmapBlock }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const layout = useRef<HeatLayout | null>(null);
  const [current, setCurrent] = useState<Cell>(NO_CELL);
  const description = useMemo(() => summary(block), [block]);
  useDrawing(canvas, () => {
    if (canvas.current) layout.current = drawHeat(canvas.current, block, current);
  });
  const point = (event: MouseEvent) => {
    if (layout.current) setCurrent(cellAt(block, layout.current, event.offsetX, event.offsetY));
  };
  const key = (event: KeyboardEvent) => {
    const next = event.key === "Escape" ? NO_CELL : cellAfter(block, current, event.key);
    if (!next) return;
    setCurrent(next);
    event.preventDefault();
  };
  return (
    <figure class="heatmap">
      <Caption title={block.title} />
      <Scale block={block} />
      {block.note && <p class="quiet">{block.note}</p>}
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: the keys go through the cells */}
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label={`${block.title}. ${description} ${KEYS} The table below has the largest cells.`}
        onMouseMove={point}
        onClick={point}
        onMouseLeave={() => setCurrent(NO_CELL)}
        onKeyDown={key}
      />
      <p class="readout" aria-live="polite">
        {current.row >= 0 ? (
          <CellReadout block={block} cell={current} />
        ) : (
          `Point at a cell to read its value. ${KEYS}`
        )}
      </p>
      <AsTable summary="The largest cells as a table" make={() => heatTable(block)} of={block} />
    </figure>
  );
}

function CellReadout({ block, cell }: { block: HeatmapBlock; cell: Cell }) {
  const { hrefOfCell } = useContext(LinksContext);
  const { place, value } = cellText(block, cell);
  const row = block.rows[cell.row];
  const href = row?.worker ? hrefOfCell("worker", row.worker, {}) : null;
  return (
    <>
      <b>{place}</b>
      <span>{value}</span>
      {row?.about && <span>{row.about}</span>}
      {href && <a href={href}>Open {row?.worker}</a>}
    </>
  );
}

/** What the colours and marks mean. */
function Scale({ block }: { block: HeatmapBlock }) {
  const max = largest(block);
  const incomplete = block.rows.some(({ values }) => values.includes(null));
  return (
    <ul class="legend">
      <li class="heat-scale">
        <span>{block.value_title}</span>
        <span class="ramp">
          <span class="colours" />
          {TICKS.map((part) => (
            <span key={part} class="tick" style={{ left: `${100 * Math.sqrt(part)}%` }}>
              {format(block.kind, part * max)}
            </span>
          ))}
        </span>
      </li>
      {block.mark_title && (
        <li>
          <b class="marked">▸</b> {block.mark_title}
        </li>
      )}
      {incomplete && <li>– not recorded</li>}
      <li class="quiet">
        rows: {block.row_title}, columns: {block.column_title}
      </li>
    </ul>
  );
}
