// The options of a plot: colours of the theme, axes with units, marks, and what the cursor tells.

import uPlot from "uplot";
import type { Curves } from "../../document/types";
import { colourOf } from "../theme";
import { CLOCK_STEPS, clockWord, gridSteps, gridWord, labelWords, momentWords } from "./axes";

/** Height of the words above a mark, in pixels: above the plot, where they hide no curve. */
const LABEL = 18;

export interface PlotSettings {
  width: number;
  height: number;
  hidden: ReadonlySet<number>;
  /** Index of the point below the cursor; null for none. */
  onCursor: (index: number | null) => void;
  /** Whether a part is shown only. */
  onZoom: (zoomed: boolean) => void;
}

/** The colour of a series, as a property of the style sheet. */
export function seriesColour(index: number): string {
  return `--part-${(index % 8) + 1}`;
}

/** Options for a block in the colours of now; `latest` gives it as it is when it is drawn. */
export function plotOptions(latest: () => Curves, settings: PlotSettings): uPlot.Options {
  const block = latest();
  const axis = axisStyle();
  const steps = gridSteps(block.kind);
  return {
    width: settings.width,
    height: settings.height,
    legend: { show: false },
    padding: [hasMarks(block) ? LABEL + 4 : 12, 12, 0, 0],
    cursor: { y: false, points: { size: 7 }, drag: { x: true, y: false, setScale: true } },
    scales: { x: { time: false }, y: { range: heights(block) } },
    series: [{}, ...block.series.map((_, index) => seriesStyle(block, index, settings.hidden))],
    bands: bandsOf(block),
    axes: [
      {
        ...axis,
        space: block.labels.length ? 96 : block.of_day ? 72 : 62,
        size: 32,
        ...(block.of_day ? { incrs: CLOCK_STEPS } : {}),
        values: (_, places) => placeWords(latest(), places),
      },
      {
        ...axis,
        size: 76,
        space: 34,
        ...(steps ? { incrs: steps } : {}),
        values: (_, values) => values.map((value) => gridWord(block.kind, value)),
      },
    ],
    hooks: {
      draw: [(plot) => drawMarks(plot, latest().marks)],
      setCursor: [(plot) => settings.onCursor(plot.cursor.idx ?? null)],
      setScale: [(plot, key) => key === "x" && settings.onZoom(isZoomed(plot))],
    },
  };
}

function placeWords({ labels, of_day }: Curves, places: number[]): string[] {
  if (of_day) return places.map(clockWord);
  return labels.length ? labelWords(labels, places) : momentWords(places);
}

/** Whether there is to be room for marks: where time goes on, some may come. */
export function hasMarks({ marks, of_day }: Curves): boolean {
  return marks.length > 0 || of_day === true;
}

/** What is between a band and the curve before it. */
function bandsOf(block: Curves): uPlot.Band[] {
  return block.series.flatMap(({ shape }, index) =>
    shape === "band"
      ? [{ series: [index + 1, index], fill: `${colourOf(seriesColour(index - 1))}26` }]
      : [],
  );
}

function axisStyle(): uPlot.Axis {
  const line = { stroke: colourOf("--line"), width: 1 };
  return {
    stroke: colourOf("--quiet"),
    font: `12px ${colourOf("--sans")}`,
    grid: line,
    ticks: { ...line, size: 4 },
  };
}

function heights({ from_zero }: Curves): uPlot.Range.Config {
  const pad = 0.08;
  return from_zero
    ? { min: { soft: 0, mode: 1 }, max: { pad } }
    : { min: { pad }, max: { pad: 2 * pad } };
}

function seriesStyle(block: Curves, index: number, hidden: ReadonlySet<number>): uPlot.Series {
  const { name, shape } = block.series[index] as Curves["series"][number];
  const stroke = colourOf(seriesColour(index));
  const { linear, stepped, points } = uPlot.paths;
  if (shape === "dots")
    return {
      label: name,
      show: !hidden.has(index),
      stroke,
      points: { show: true, size: 6, fill: stroke },
      ...(points ? { paths: points() } : {}),
    };
  const paths = shape === "step" ? stepped?.({ align: 1 }) : linear?.();
  return {
    label: name,
    show: !hidden.has(index),
    stroke,
    width: 1.5,
    // The first series is what the plot is about; others are lines above it.
    ...(shape === "area" || (index === 0 && block.from_zero) ? { fill: `${stroke}26` } : {}),
    ...(index % 2 ? { dash: [6, 3] } : {}),
    ...(paths ? { paths } : {}),
    points: { show: false },
  };
}

/** Whether a part of the time is shown only. */
export function isZoomed(plot: uPlot): boolean {
  const xs = plot.data[0];
  const { min, max } = plot.scales.x ?? {};
  return min != null && max != null && (min > (xs[0] ?? min) || max < (xs.at(-1) ?? max));
}

function drawMarks(plot: uPlot, marks: Curves["marks"]): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = colourOf("--text");
  ctx.fillStyle = colourOf("--text");
  ctx.textAlign = "center";
  ctx.textBaseline = "alphabetic";
  ctx.font = `${12 * ratio}px ${colourOf("--sans")}`;
  ctx.lineWidth = ratio;
  ctx.setLineDash([4 * ratio, 3 * ratio]);
  let labelEnd = 0;
  for (const { x, label } of marks) {
    const at = plot.valToPos(x, "x", true);
    if (at < bbox.left || at > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(at, bbox.top);
    ctx.lineTo(at, bbox.top + bbox.height);
    ctx.stroke();
    const room = ctx.measureText(label).width / 2;
    const middle = Math.min(Math.max(at, bbox.left + room), bbox.left + bbox.width - room);
    // Words that would stand on those before are left out; the line says where it is.
    if (middle - room < labelEnd) continue;
    labelEnd = middle + room + 4 * ratio;
    ctx.fillText(label, middle, bbox.top - 5 * ratio);
  }
  ctx.restore();
}

/** Shows another part of the time: moved by a part of the width, or made `factor` as wide. */
export function moveView(plot: uPlot, by: number, factor = 1): void {
  const xs = plot.data[0];
  const { min, max } = plot.scales.x ?? {};
  const [first, last] = [xs[0], xs.at(-1)];
  if (min == null || max == null || first === undefined || last === undefined) return;
  const width = Math.min((max - min) * factor, last - first);
  const middle = (min + max) / 2 + by * (max - min);
  const from = Math.min(Math.max(middle - width / 2, first), last - width);
  plot.setScale("x", { min: from, max: from + width });
}
