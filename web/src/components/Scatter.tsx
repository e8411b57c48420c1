import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Point, Scatter as ScatterBlock } from "../document/types";
import { AsTable } from "./AsTable";
import { Caption } from "./Caption";
import { partColour } from "./colours";
import { LinksContext } from "./links";
import { figuresOf, scatterTable, summary } from "./scatter/description";
import {
  isBeyond,
  layoutScatter,
  type Plot,
  placeNames,
  pointAfter,
  type RoofLine,
  radii,
  roofLines,
  tickLabel,
} from "./scatter/layout";

const KEYS = "Arrow keys move between points, Enter opens details.";
/** Width before it is measured. */
const USUAL_WIDTH = 720;
const NARROWEST = 280;

/** Points below rooflines, on logarithmic axes; a point links to its operator. */
export function Scatter({ block }: { block: ScatterBlock }) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const [current, setCurrent] = useState(-1);
  const { hrefOfCell, hrefOfLink } = useContext(LinksContext);
  const plot = useMemo(() => layoutScatter(block, width), [block, width]);
  const lines = useMemo(() => roofLines(block, plot), [block, plot]);
  const description = useMemo(() => summary(block), [block]);
  const hrefOf = ({ name }: Point) => {
    const link = { label: name, section: block.section, search: name, from_ns: null, to_ns: null };
    return (block.link && hrefOfCell(block.link, name, {})) || hrefOfLink(link);
  };
  const point = block.points[current];
  const href = point && hrefOf(point);
  const key = (event: KeyboardEvent) => {
    if (event.key === "Enter" && href) location.href = href;
    else if (event.key === "Escape") setCurrent(-1);
    else {
      const next = pointAfter(block, current, event.key);
      if (next === null) return;
      setCurrent(next);
    }
    event.preventDefault();
  };
  // The last point stays current: its link is below the picture.
  const hover = ({ target }: MouseEvent) => {
    const at = (target as Element).getAttribute("data-at");
    if (at !== null) setCurrent(Number(at));
  };
  return (
    <figure class="scatter">
      <Caption title={block.title} />
      <ul class="legend">
        {block.groups.map(({ id, name }, index) => (
          <li key={id}>
            <span class="swatch" style={{ background: partColour(id, index) }} /> {name}
          </li>
        ))}
        <li class="quiet">area: {block.size_title}</li>
        {block.points.some((point) => isBeyond(plot, point)) && (
          <li class="quiet">pale: outside the axes</li>
        )}
      </ul>
      {block.note && <p class="quiet">{block.note}</p>}
      <div ref={frame}>
        {/* biome-ignore-start lint/a11y/noNoninteractiveTabindex: the keys go through the points */}
        <svg
          width={plot.width}
          height={plot.height}
          viewBox={`0 0 ${plot.width} ${plot.height}`}
          tabindex={0}
          role="application"
          aria-label={`${block.title}. ${description} ${KEYS} The table below has all points.`}
          onKeyDown={key}
          onMouseMove={hover}
        >
          <Axes block={block} plot={plot} />
          <g class="roofs">
            {lines.map(({ name, from, to }) => (
              <line key={name} x1={from[0]} y1={from[1]} x2={to[0]} y2={to[1]} />
            ))}
          </g>
          <Points {...{ block, plot, current, hrefOf }} onCurrent={setCurrent} />
          <Names {...{ block, plot, lines }} />
        </svg>
        {/* biome-ignore-end lint/a11y/noNoninteractiveTabindex: the keys go through the points */}
      </div>
      <p class="readout" aria-live="polite">
        {point ? (
          <>
            <b>{point.name}</b>
            {point.about && <span>{point.about}</span>}
            <span>{block.groups.find(({ id }) => id === point.group)?.name}</span>
            {figuresOf(block, current).map((text) => (
              <span key={text}>{text}</span>
            ))}
            {href && <a href={href}>Show details</a>}
          </>
        ) : (
          `Point at a circle to read its values. ${KEYS}`
        )}
      </p>
      <AsTable summary="The points as a table" make={() => scatterTable(block)} of={block} />
    </figure>
  );
}

function Axes({ block, plot }: { block: ScatterBlock; plot: Plot }) {
  const { left, right, top, bottom, x, y } = plot;
  return (
    <g class="axes">
      <rect x={left} y={top} width={right - left} height={bottom - top} />
      {x.ticks.map((value) => (
        <g key={value}>
          <line x1={x.at(value)} x2={x.at(value)} y1={top} y2={bottom} />
          <text x={x.at(value)} y={bottom + 15} text-anchor="middle">
            {tickLabel(value)}
          </text>
        </g>
      ))}
      {y.ticks.map((value) => (
        <g key={value}>
          <line x1={left} x2={right} y1={y.at(value)} y2={y.at(value)} />
          <text x={left - 6} y={y.at(value) + 4} text-anchor="end">
            {tickLabel(value)}
          </text>
        </g>
      ))}
      <text x={(left + right) / 2} y={bottom + 33} text-anchor="middle">
        {block.x_title}
      </text>
      <text x={2} y={top - 8}>
        {block.y_title}
      </text>
    </g>
  );
}

interface PointsProps {
  block: ScatterBlock;
  plot: Plot;
  current: number;
  onCurrent(at: number): void;
  hrefOf(point: Point): string | null;
}

/** The largest first, so that small ones lie on them. */
function Points({ block, plot, current, onCurrent, hrefOf }: PointsProps) {
  const sizes = useMemo(() => radii(block.points, plot.width), [block, plot]);
  const places = new Map(block.groups.map(({ id }, index) => [id, index]));
  return (
    <g class="points">
      {block.points.map((point, at) => {
        const circle = (
          <circle
            class={`${at === current ? "current" : ""} ${isBeyond(plot, point) ? "beyond" : ""}`}
            cx={plot.x.at(point.x)}
            cy={plot.y.at(point.y)}
            r={sizes[at]}
            fill={partColour(point.group, places.get(point.group) ?? 0)}
            data-at={at}
          />
        );
        const href = hrefOf(point);
        if (!href) return <g key={at}>{circle}</g>;
        // Touch has no hover: the first touch selects, the second opens.
        const click = (event: MouseEvent) => {
          const touched = (event as PointerEvent).pointerType === "touch";
          if (touched && at !== current) event.preventDefault();
          onCurrent(at);
        };
        return (
          <a
            key={at}
            href={href}
            tabindex={-1}
            aria-label={`${point.name} ${point.about}`}
            onClick={click}
          >
            {circle}
          </a>
        );
      })}
    </g>
  );
}

interface NamesProps {
  block: ScatterBlock;
  plot: Plot;
  lines: RoofLine[];
}

/** Of roofs, and of points where there is room. */
function Names({ block, plot, lines }: NamesProps) {
  const names = useMemo(() => placeNames(block, plot, lines), [block, plot, lines]);
  return (
    <g class="names">
      {lines.map(({ name, label: { x, y, angle } }) => (
        <text
          key={name}
          text-anchor={angle ? "middle" : "end"}
          transform={`translate(${x} ${y}) rotate(${angle})`}
          dy={angle ? -6 : 0}
        >
          {name}
        </text>
      ))}
      {names.map(({ text, x, y }) => (
        <text key={text} x={x} y={y}>
          {text}
        </text>
      ))}
    </g>
  );
}

/** The width of an element. */
function useWidth(element: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(USUAL_WIDTH);
  useEffect(() => {
    const measure = () => {
      const clientWidth = element.current?.clientWidth;
      if (clientWidth) setWidth(Math.max(clientWidth, NARROWEST));
    };
    measure();
    const observer = new ResizeObserver(measure);
    if (element.current) observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
