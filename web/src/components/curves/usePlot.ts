import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Curves } from "../../document/types";
import { onThemeChange } from "../theme";
import { hasMarks, isZoomed, type PlotSettings, plotOptions } from "./plotting";

const HEIGHT = 240;

export type CurveSettings = Omit<PlotSettings, "width" | "height">;

/** Draws curves into an element as wide as it is, and anew when colours change. */
export function usePlot(
  element: RefObject<HTMLElement | null>,
  block: Curves,
  settings: CurveSettings,
): RefObject<uPlot | null> {
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(settings);
  latest.current = settings;
  const current = useRef(block);
  const drawn = useRef(block);
  current.current = block;
  const form = formOf(block);
  useEffect(() => {
    const host = element.current;
    if (!host) return;
    // At once and not by the next drawing of the page: paper does not wait.
    const draw = () => {
      plot.current?.destroy();
      const size = { width: host.clientWidth, height: HEIGHT };
      plot.current = new uPlot(
        plotOptions(() => current.current, { ...latest.current, ...size }),
        dataOf(current.current),
        host,
      );
      drawn.current = current.current;
    };
    draw();
    const observer = new ResizeObserver(() =>
      plot.current?.setSize({ width: host.clientWidth, height: HEIGHT }),
    );
    observer.observe(host);
    const stop = onThemeChange(draw);
    return () => {
      stop();
      observer.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [form, element]);
  useEffect(() => {
    if (!plot.current || drawn.current === block) return;
    drawn.current = block;
    showNewer(plot.current, block);
  }, [block]);
  useEffect(() => {
    for (const index of block.series.keys()) {
      plot.current?.setSeries(index + 1, { show: !settings.hidden.has(index) });
    }
  }, [form, settings.hidden]);
  return plot;
}

/** What a plot is made for once; other values of the same form are put into it. */
function formOf(block: Curves): string {
  const { id, kind, series, labels, from_zero, of_day } = block;
  const curves = series.map(({ name, shape }) => [name, shape]);
  return JSON.stringify([id, kind, curves, hasMarks(block), labels.length > 0, from_zero, of_day]);
}

/** New values in the part that is shown; who sees all of them goes on doing so. */
function showNewer(plot: uPlot, block: Curves): void {
  const part = isZoomed(plot);
  plot.setData(dataOf(block), !part);
  if (part) plot.redraw(true, true);
}

function dataOf(block: Curves): uPlot.AlignedData {
  return [block.x, ...block.series.map(({ values }) => values)];
}
