import { useEffect, useRef } from "preact/hooks";
import { onThemeChange } from "./theme";

/** Draws after every change, of the theme and of the width too. */
export function useDrawing(canvas: { current: HTMLCanvasElement | null }, draw: () => void): void {
  const latest = useRef(draw);
  latest.current = draw;
  useEffect(draw);
  useEffect(() => {
    const again = () => latest.current();
    const observer = new ResizeObserver(again);
    if (canvas.current) observer.observe(canvas.current);
    const stop = onThemeChange(again);
    return () => {
      observer.disconnect();
      stop();
    };
  }, [canvas]);
}
