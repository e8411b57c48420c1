// Holds what the timeline shows and draws it when something changed, once per frame at most.

import type { Range, TraceApi } from "./api";
import { plainColour } from "./colours";
import { contextOf } from "./context";
import { type DrawnSlice, type Hit, hitAt, neighbour, sliceAt } from "./hit";
import { isCurve, type Layout, ROW, rowTop, visibleItems } from "./layout";
import { Loader } from "./loader";
import { Names } from "./names";
import { busiest } from "./overview";
import { type Frame, paint, type Spot } from "./paint";
import { valueAt } from "./paintCurves";
import { paintOverview, paintRuler } from "./paintRuler";
import { SlicePainter } from "./paintSlices";
import { currentTheme } from "./theme";
import type { Overlay, Timeline, Track } from "./types";
import { between, clamp, fitAll, nsPerPixel, type View } from "./view";
import { levelOf } from "./windows";

/** How long a movement takes, roughly: it covers most of the way in this time. */
const GLIDE_MS = 55;
/** Time without movement after which a view is settled, in milliseconds. */
const REST_MS = 250;
/** Rows beyond the edges that are asked for as well. */
const OVERSCAN = 300;

export interface EngineEvents {
  onLoading(loading: boolean): void;
  onError(error: Error | null): void;
  /** The view stands still. */
  onRest(view: View): void;
}

export interface Canvases {
  main: HTMLCanvasElement;
  ruler: HTMLCanvasElement;
  overview: HTMLCanvasElement;
}

export class Engine {
  readonly names = new Names();
  readonly loader: Loader;
  view: View = { from: 0, to: 1, width: 1 };
  top = 0;
  height = 0;
  selected: Spot | null = null;
  hovered: Spot | null = null;
  arrows: Frame["arrows"] = [];
  range: Range | null = null;
  /** Where the pointer is, in pixels of the ruler. */
  cursor: number | null = null;
  /** Called when something else has come beneath the pointer, as the view moved. */
  onMoved: () => void = () => {};
  private goal: View | null = null;
  private theme = currentTheme();
  private readonly painter = new SlicePainter();
  private readonly bands: Track[];
  private canvases: Canvases | null = null;
  private lastDrawn = { view: this.view, top: 0 };
  private frame = 0;
  private last = 0;
  private rest: ReturnType<typeof setTimeout> | null = null;

  constructor(
    api: TraceApi,
    readonly timeline: Timeline,
    public layout: Layout,
    private readonly events: EngineEvents,
  ) {
    this.view = fitAll(timeline.length_ns, 1000);
    this.bands = busiest(timeline.tracks);
    this.loader = new Loader(api, timeline.length_ns, this.names, {
      onData: () => {
        // Late data also updates the tooltip of a resting pointer.
        this.onMoved();
        this.redraw();
      },
      onLoading: events.onLoading,
      onError: events.onError,
    });
  }

  attach(canvases: Canvases | null): void {
    this.canvases = canvases;
    if (canvases) this.redraw();
    else this.stop();
  }

  private stop(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (this.rest) clearTimeout(this.rest);
    this.loader.stop();
  }

  /** Sets the size in pixels; what is in view stays. */
  resize(width: number, height: number): void {
    this.height = height;
    this.view = { ...this.view, width: Math.max(1, width) };
    if (this.goal) this.goal = { ...this.goal, width: this.view.width };
    this.loader.overview = { view: this.fullView, tracks: this.bands };
    this.redraw();
  }

  arrange(layout: Layout): void {
    this.layout = layout;
    this.onMoved();
    this.redraw();
  }

  restyle(): void {
    this.theme = currentTheme();
    this.redraw();
  }

  /** Shows a view at once. */
  show(view: View): void {
    this.goal = null;
    this.view = clamp(view, this.timeline.length_ns);
    this.redraw();
  }

  /** Moves to a view; further movement starts where this one leads. */
  glide(view: View): void {
    this.goal = clamp(view, this.timeline.length_ns);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) this.show(this.goal);
    this.redraw();
  }

  /** Where the view is going, or is. */
  get aim(): View {
    return this.goal ?? this.view;
  }

  redraw(): void {
    if (!this.frame && this.canvases) {
      this.frame = requestAnimationFrame((now) => {
        this.frame = 0;
        this.step(now);
      });
    }
  }

  private step(now: number): void {
    if (this.goal) {
      const share = 1 - Math.exp(-Math.min(now - this.last, 50) / GLIDE_MS);
      const near = Math.abs(this.goal.from - this.view.from) < nsPerPixel(this.goal) / 2;
      const isScaled =
        Math.abs(this.goal.to - this.goal.from - (this.view.to - this.view.from)) <
        nsPerPixel(this.goal);
      this.view = near && isScaled ? this.goal : between(this.view, this.goal, share);
      if (near && isScaled) this.goal = null;
      else this.redraw();
    }
    this.last = now;
    if (this.view !== this.lastDrawn.view || this.top !== this.lastDrawn.top) this.viewMoved();
    this.loader.show(this.view, this.tracksToLoad());
    this.draw();
  }

  private viewMoved(): void {
    this.lastDrawn = { view: this.view, top: this.top };
    this.onMoved();
    if (this.rest) clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      // On its way it does not rest, however long a frame takes.
      if (!this.goal) this.events.onRest(this.view);
    }, REST_MS);
  }

  private tracksToLoad(): Track[] {
    const top = this.top - OVERSCAN;
    const items = visibleItems(this.layout, top, this.top + this.height + OVERSCAN);
    return items.flatMap((item) => (item.type === "track" ? [item.track] : []));
  }

  private draw(): void {
    const { canvases, view, theme, timeline, range } = this;
    if (!canvases) return;
    const startTime = performance.now();
    const { steps, length_ns: length } = timeline;
    paint(contextOf(canvases.main, view.width, this.height), this.painter, {
      ...{ view, theme, steps, length, range, ratio: devicePixelRatio || 1 },
      ...{ height: this.height, top: this.top, layout: this.layout, names: this.names },
      ...{ selected: this.selected, hovered: this.hovered, arrows: this.arrows },
      overlays: this.loader.overlays,
      overlayOf: (overlay, track) => this.overlayOf(overlay, track),
      slicesOf: (track) => this.slicesOf(track),
      curvesOf: (track) => this.curvesOf(track),
    });
    // For those who measure: what the last frame held and how long it took to draw.
    canvases.main.dataset.slices = String(this.painter.slices);
    canvases.main.dataset.ms = (performance.now() - startTime).toFixed(2);
    const ruler = contextOf(canvases.ruler, view.width, canvases.ruler.clientHeight);
    paintRuler(ruler, view, steps, range, this.cursor, theme);
    const fullView = this.fullView;
    const level = levelOf(nsPerPixel(fullView));
    const bands = this.bands.map((track) => ({
      colour: theme.palette.fills[plainColour(track.kind)]!,
      pieces: this.loader.slices.pieces(track.id, level, { from: 0, to: length }),
    }));
    const overview = contextOf(canvases.overview, view.width, canvases.overview.clientHeight);
    paintOverview(overview, fullView, view, bands, range, theme);
  }

  /** The whole recording on the overview. */
  get fullView(): View {
    return { from: 0, to: Math.max(1, this.timeline.length_ns), width: this.view.width };
  }

  slicesOf(track: number) {
    return this.loader.slices.pieces(track, levelOf(nsPerPixel(this.view)), this.view);
  }

  curvesOf(track: number) {
    return this.loader.curves.pieces(track, levelOf(nsPerPixel(this.view)), this.view);
  }

  private overlayOf(overlay: Overlay, track: number) {
    return this.loader[overlay].pieces(track, levelOf(nsPerPixel(this.view)), this.view);
  }

  /** Says what is drawn over slices. */
  setOverlays(overlays: readonly Overlay[]): void {
    this.loader.overlays = overlays;
    this.redraw();
  }

  /** What is at a place of the main canvas. */
  hit(x: number, y: number): Hit | null {
    const time = this.view.from + x * nsPerPixel(this.view);
    const slack = 3 * nsPerPixel(this.view);
    return hitAt(this.layout, y + this.top, time, slack, (track) => this.slicesOf(track));
  }

  valueAt(track: number, x: number) {
    return valueAt(this.curvesOf(track), this.view.from + x * nsPerPixel(this.view));
  }

  /** A slice in sight where keys can begin. */
  firstSpot(): DrawnSlice | null {
    for (const item of visibleItems(this.layout, this.top, this.top + this.height)) {
      if (item.type !== "track" || isCurve(item.track)) continue;
      const before = { row: 0, from_ns: this.view.from - 1, dur_ns: 0 };
      const slice = neighbour(this.slicesOf(item.track.id), before, 1);
      if (slice) return slice;
    }
    return null;
  }

  /** The slice a key leads to: along the row, or to the row above or below. */
  adjacentSlice(spot: Spot, way: "next" | "previous" | "outer" | "inner"): DrawnSlice | null {
    const { loader, view } = this;
    const span = { from: view.from - (view.to - view.from), to: view.to + (view.to - view.from) };
    const pieces = loader.slices.pieces(spot.track, levelOf(nsPerPixel(view)), span);
    if (way === "next") return neighbour(pieces, spot, 1);
    if (way === "previous") return neighbour(pieces, spot, -1);
    if (way === "outer") return sliceAt(pieces, spot.row - 1, spot.from_ns, nsPerPixel(view));
    const inner = { row: spot.row + 1, from_ns: spot.from_ns - 1, dur_ns: 1 };
    const slice = neighbour(pieces, inner, 1);
    return slice && slice.from_ns < spot.from_ns + spot.dur_ns ? slice : null;
  }

  /** Where to scroll so that a slice can be seen; null where it can be already. */
  scrollFor(spot: Spot, where: "middle" | "nearest" = "middle"): number | null {
    const item = this.layout.byTrack.get(spot.track);
    if (!item || isCurve(item.track)) return null;
    const y = rowTop(item, spot.row);
    if (y >= this.top && y + 24 <= this.top + this.height) return null;
    const margin = Math.min(2 * ROW, this.height / 3);
    const nearest = y < this.top ? y - margin : y + ROW + margin - this.height;
    return Math.max(0, where === "nearest" ? nearest : y - this.height / 2);
  }
}
