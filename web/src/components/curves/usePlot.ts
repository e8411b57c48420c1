import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Curves } from "../../document/types";
import { onThemeChange } from "../theme";
import { type PlotWishes, plotOptions } from "./plotting";

const HEIGHT = 240;

export type CurveWishes = Omit<PlotWishes, "width" | "height">;

/** Draws curves into an element as wide as it is, and anew when colours change. */
export function usePlot(
  element: RefObject<HTMLElement | null>,
  block: Curves,
  wishes: CurveWishes,
): RefObject<uPlot | null> {
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(wishes);
  latest.current = wishes;
  useEffect(() => {
    const host = element.current;
    if (!host) return;
    // At once and not by the next drawing of the page: paper does not wait.
    const draw = () => {
      plot.current?.destroy();
      const size = { width: host.clientWidth, height: HEIGHT };
      plot.current = new uPlot(
        plotOptions(block, { ...latest.current, ...size }),
        dataOf(block),
        host,
      );
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
  }, [block, element]);
  useEffect(() => {
    for (const index of block.series.keys()) {
      plot.current?.setSeries(index + 1, { show: !wishes.hidden.has(index) });
    }
  }, [block, wishes.hidden]);
  return plot;
}

function dataOf(block: Curves): uPlot.AlignedData {
  return [block.x, ...block.series.map(({ values }) => values)];
}
