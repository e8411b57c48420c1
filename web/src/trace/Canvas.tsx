import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Range } from "./api";
import type { Engine } from "./engine";
import type { DrawnSlice, Hit } from "./hit";
import { isCurve, type Layout } from "./layout";
import { Names, valueText } from "./Names";
import type { Spot } from "./paint";
import { axisOf } from "./paintCurves";
import { OVERVIEW, RULER } from "./paintRuler";
import { listen } from "./pointer";
import { sliceLines, Tooltip, type TooltipContent } from "./Tooltip";
import { lengthText } from "./ticks";

interface CanvasProps {
  engine: Engine;
  layout: Layout;
  scroller: RefObject<HTMLDivElement | null>;
  onToggle(key: string): void;
  /** The selection: it stays in view when a panel opens. */
  chosen: Spot | null;
  onUnfold(track: number): void;
  onPick(slice: DrawnSlice | null): void;
  onRange(range: Range | null): void;
}

/** Overview, ruler, names and slices. */
export function Canvas(props: CanvasProps) {
  const { engine, layout, scroller, onPick, onRange } = props;
  const main = useRef<HTMLCanvasElement>(null);
  const ruler = useRef<HTMLCanvasElement>(null);
  const overview = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [top, setTop] = useState(0);
  const showTooltip = useRef<(content: TooltipContent | null) => void>(() => {});
  const latest = useRef({ onPick, onRange });
  latest.current = { onPick, onRange };

  useEffect(() => {
    const box = scroller.current!;
    const measure = () => {
      const names = box.querySelector<HTMLElement>(".trace-names")!.offsetWidth;
      const next = { width: Math.max(1, box.clientWidth - names), height: box.clientHeight };
      setSize(next);
      engine.resize(next.width, next.height);
    };
    const canvases = { main: main.current!, ruler: ruler.current!, overview: overview.current! };
    engine.attach(canvases);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    const pointer = { x: 0, y: 0 };
    engine.onMoved = () => {
      if (engine.cursor === null) return;
      const hit = engine.hit(pointer.x, pointer.y);
      const dragged = canvases.main.classList.contains("dragged");
      showTooltip.current(dragged ? null : hover(engine, hit, pointer.x, pointer.y));
    };
    const stop = listen(canvases, engine, {
      onHover: (hit, x, y) => {
        Object.assign(pointer, { x, y });
        showTooltip.current(hover(engine, hit, x, y));
      },
      onPick: (slice) => latest.current.onPick(slice),
      onDouble: (slice) => latest.current.onRange([slice.from_ns, slice.from_ns + slice.dur_ns]),
      onRange: (range, done) => {
        engine.range = range;
        engine.redraw();
        if (done) latest.current.onRange(range);
      },
      scrollBy: (pixels) => box.scrollBy({ top: pixels, behavior: "instant" }),
    });
    main.current!.focus({ preventScroll: true });
    return () => {
      stop();
      observer.disconnect();
      engine.attach(null);
    };
  }, [engine]);

  const { chosen } = props;
  useEffect(() => {
    const top = chosen && engine.scrollFor(chosen, "nearest");
    if (top !== null) scroller.current?.scrollTo({ top, behavior: "instant" });
  }, [engine, chosen, size.height]);

  const { timeline } = engine;
  const wide = { width: `${size.width}px` };
  return (
    <div class="trace-canvas">
      <div class="head">
        <div class="corner">{lengthText(timeline.length_ns)}</div>
        <canvas ref={overview} style={{ ...wide, height: `${OVERVIEW}px` }} aria-label="Overview" />
      </div>
      <div class="head">
        <div class="corner">{timeline.steps.length > 0 && "Steps"}</div>
        <canvas
          ref={ruler}
          class="ruler"
          style={{ ...wide, height: `${RULER}px` }}
          aria-label="Time"
        />
      </div>
      <div class="body">
        <div
          class="scroller"
          ref={scroller}
          onScroll={(event) => {
            engine.top = event.currentTarget.scrollTop;
            engine.redraw();
            setTop(engine.top);
          }}
        >
          <div class="content" style={{ height: `${layout.height}px` }}>
            <Names {...props} top={top} height={size.height} />
            {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: keys are ours here */}
            <canvas
              ref={main}
              class="slices"
              style={{ ...wide, height: `${size.height}px` }}
              tabIndex={0}
              role="application"
              aria-label="Timeline. Arrow keys move between slices, W A S D zoom and move, question mark lists all keys."
            />
          </div>
        </div>
        <div class="over" style={wide}>
          <Tooltip bind={showTooltip} {...size} />
        </div>
      </div>
    </div>
  );
}

/** Marks the slice below the pointer; the content of its tooltip. */
function hover(engine: Engine, hit: Hit | null, x: number, y: number): TooltipContent | null {
  engine.cursor = y > 0 ? x : null;
  engine.hovered = hit?.slice ?? null;
  engine.redraw();
  if (!hit) return null;
  const { track } = hit.item;
  if (isCurve(track)) {
    const value = engine.valueAt(track.id, x);
    if (!value) return null;
    const text = (of: number) => valueText(of, track.unit);
    const spread = value.low < value.high ? [`${text(value.low)} to ${text(value.high)}`] : [];
    const axis = `axis: ${axisOf(track).map(text).join(" to ")}`;
    return { x, y, title: text(value.mean), lines: [track.name, ...spread, axis] };
  }
  if (!hit.slice) return null;
  const { code } = hit.slice;
  const [title, fullName] = [engine.names.short(code), engine.names.text(code)];
  const lines = [...sliceLines(hit.slice), ...(title === fullName ? [] : [fullName])];
  return { x, y, title, lines };
}
