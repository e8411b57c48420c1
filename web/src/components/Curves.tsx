import "uplot/dist/uPlot.min.css";
import { useContext, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import type { Curves as CurvesBlock } from "../document/types";
import { format } from "../format/format";
import { Caption } from "./Caption";
import { placeWord } from "./curves/axes";
import { describeCurves } from "./curves/description";
import { moveView, seriesColour } from "./curves/plotting";
import { usePlot } from "./curves/usePlot";
import { Icon } from "./Icon";
import { LinksContext } from "./links";

/** Values over time, or from commit to commit: drag to zoom, or focus and use the arrow keys, + and -. */
export function Curves({ block }: { block: CurvesBlock }) {
  const element = useRef<HTMLDivElement>(null);
  const [hidden, setHidden] = useState<ReadonlySet<number>>(new Set());
  const [cursor, setCursor] = useState<number | null>(null);
  const [zoomed, setZoomed] = useState(false);
  const plot = usePlot(element, block, { hidden, onCursor: setCursor, onZoom: setZoomed });
  const links = useContext(LinksContext);
  const hrefAt = (index: number | null) => {
    const x = index === null || block.labels.length ? undefined : block.x[index];
    return x === undefined ? null : links.hrefOfCell("moment", String(Math.round(x)), {});
  };
  const follow = () => {
    const href = hrefAt(cursor);
    if (href) location.assign(href);
  };
  const pressX = useRef(0);
  const click = (event: MouseEvent) => {
    // A drag zooms, it is no click.
    if (Math.abs(event.clientX - pressX.current) < 4) follow();
  };
  const toggle = (index: number) => {
    const next = new Set(hidden);
    if (!next.delete(index)) next.add(index);
    setHidden(next);
  };
  const reset = () => plot.current && showAll(plot.current);
  const key = (event: KeyboardEvent) => {
    if (event.key === "Enter") follow();
    if (plot.current && handleKey(plot.current, event)) event.preventDefault();
  };
  return (
    <figure class="curves">
      <Caption title={block.title} />
      <div class="toolbar">
        <ul class="legend">
          {block.series.map(({ name, values }, index) => (
            <li key={name}>
              <button
                type="button"
                class="series"
                aria-pressed={!hidden.has(index)}
                onClick={() => toggle(index)}
              >
                <span
                  class={`swatch line ${index % 2 ? "dashed" : ""}`}
                  style={{ borderColor: `var(${seriesColour(index)})` }}
                />
                {name}
                {cursor !== null && <b>{format(block.kind, values[cursor])}</b>}
              </button>
            </li>
          ))}
          {cursor !== null && <li class="at">at {placeWord(block, cursor)}</li>}
        </ul>
        {zoomed && (
          <button type="button" class="button" onClick={reset}>
            <Icon name="reset" size={14} />
            Show all
          </button>
        )}
      </div>
      {/* biome-ignore-start lint/a11y/noNoninteractiveTabindex: the keys above move the view */}
      <div
        class="plot"
        ref={element}
        tabIndex={0}
        role="application"
        aria-label={`${describeCurves(block)} Arrow keys move, plus and minus zoom, 0 shows all.`}
        title={hrefAt(0) ? "Click to show this moment in the trace" : undefined}
        onKeyDown={key}
        onMouseDownCapture={(event) => {
          pressX.current = event.clientX;
        }}
        onClick={click}
      />
      {/* biome-ignore-end lint/a11y/noNoninteractiveTabindex: the keys above move the view */}
    </figure>
  );
}

function showAll(plot: uPlot): void {
  const xs = plot.data[0];
  plot.setScale("x", { min: xs[0] ?? 0, max: xs.at(-1) ?? 1 });
}

/** Handles a key of the plot; false for other keys. */
function handleKey(plot: uPlot, { key }: KeyboardEvent): boolean {
  if (key === "ArrowLeft") moveView(plot, -0.1);
  else if (key === "ArrowRight") moveView(plot, 0.1);
  else if (key === "+" || key === "=") moveView(plot, 0, 0.5);
  else if (key === "-") moveView(plot, 0, 2);
  else if (key === "0" || key === "Escape") showAll(plot);
  else return false;
  return true;
}
