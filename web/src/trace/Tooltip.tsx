import { useState } from "preact/hooks";
import { format } from "../format/format";

export interface TooltipContent {
  x: number;
  y: number;
  title: string;
  lines: string[];
}

export interface TooltipProps {
  /** Gets the function that shows something, or with null nothing. */
  bind: { current: (content: TooltipContent | null) => void };
  width: number;
  height: number;
}

/** Tooltip of the slice below the pointer: a move renders this component only. */
export function Tooltip({ bind, width, height }: TooltipProps) {
  const [content, show] = useState<TooltipContent | null>(null);
  bind.current = show;
  if (!content) return null;
  const place = {
    ...(content.x > width / 2
      ? { right: `${width - content.x + 14}px` }
      : { left: `${content.x + 14}px` }),
    ...(content.y > height / 2
      ? { bottom: `${height - content.y + 12}px` }
      : { top: `${content.y + 16}px` }),
  };
  return (
    <div class="trace-tooltip" style={place} aria-hidden="true">
      <strong>{content.title}</strong>
      {content.lines.map((line) => (
        <div key={line}>{line}</div>
      ))}
    </div>
  );
}

/** Lines for a slice, or for merged slices. */
export function sliceLines(slice: { count: number; dur_ns: number; busy_ns: number }): string[] {
  if (slice.count === 1) return [format("time_ns", slice.dur_ns)];
  return [
    `${format("count", slice.count)} slices; this name takes most of the time`,
    `${format("time_ns", slice.busy_ns)} busy in ${format("time_ns", slice.dur_ns)}`,
    "zoom in to see each",
  ];
}
