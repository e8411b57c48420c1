// Asks the server for what is in view, then for what may come into view next.

import type { Call, TraceApi } from "./api";
import { isCurve } from "./layout";
import type { Names } from "./names";
import type { Curve } from "./paintCurves";
import { byTrack, type TrackSlices } from "./rows";
import type { Overlay, Track } from "./types";
import { nsPerPixel, type View } from "./view";
import { levelOf, type Request, type Span, Windows } from "./windows";

/** Time given to further movement before the server is asked. */
const PAUSE_MS = 30;
const MAX_SLICES = 3_000_000;
const MAX_POINTS = 500_000;

/** Which route a request goes to. */
type Source = "slices" | "curves" | Overlay;

interface Running extends Request {
  source: Source;
  ahead: boolean;
  abort: AbortController;
}

interface VisiblePart {
  view: View;
  tracks: readonly Track[];
}

export interface LoaderEvents {
  /** Something new is there to be drawn. */
  onData(): void;
  onLoading(loading: boolean): void;
  /** Asking failed; null once it works again. */
  onError(error: Error | null): void;
}

export class Loader {
  readonly slices = new Windows<TrackSlices>(MAX_SLICES);
  readonly curves = new Windows<Curve>(MAX_POINTS);
  readonly recording = new Windows<TrackSlices>(MAX_SLICES);
  readonly path = new Windows<TrackSlices>(MAX_SLICES);
  /** What is drawn over slices just now. */
  overlays: readonly Overlay[] = [];
  private running: Running[] = [];
  private timer: ReturnType<typeof setTimeout> | null = null;
  private visible: VisiblePart | null = null;
  /** What the overview shows: asked for when there is nothing else to do. */
  overview: VisiblePart | null = null;

  constructor(
    private readonly api: TraceApi,
    private readonly length: number,
    private readonly names: Names,
    private readonly events: LoaderEvents,
  ) {}

  /** Says what is in view; asked for after a moment, as movement goes on. */
  show(view: View, tracks: readonly Track[]): void {
    this.visible = { view, tracks };
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.sendRequests();
    }, PAUSE_MS);
  }

  stop(): void {
    if (this.timer) clearTimeout(this.timer);
    this.visible = null;
    for (const request of this.running) request.abort.abort();
  }

  private sendRequests(): void {
    if (!this.visible) return;
    const { view, tracks } = this.visible;
    const level = levelOf(nsPerPixel(view));
    this.dropStale(level, view);
    const needed = this.requests(tracks, level, view);
    for (const request of needed) this.start({ ...request, ahead: false });
    if (!needed.length && !this.running.some((request) => !request.ahead)) {
      const span = view.to - view.from;
      const wide = { from: view.from - span, to: view.to + span };
      for (const request of [...this.requests(tracks, level, wide), ...this.overviewRequests()]) {
        this.start({ ...request, ahead: true });
      }
    }
    this.reportLoading();
  }

  private overviewRequests() {
    if (!this.overview) return [];
    const { view, tracks } = this.overview;
    return this.requests(tracks, levelOf(nsPerPixel(view)), view);
  }

  /** Requests for what is neither known nor on its way. */
  private requests(tracks: readonly Track[], level: number, span: Span) {
    const sources: Source[] = ["curves", "slices", ...this.overlays];
    return sources.flatMap((source) => {
      const curves = source === "curves";
      const ids = tracks.filter((track) => isCurve(track) === curves).map((track) => track.id);
      return this[source]
        .missingRequests(ids, level, span, this.length)
        .filter((request) => !this.running.some((other) => covers(other, request, source)))
        .map((request) => ({ ...request, source }));
    });
  }

  /** Aborts requests for what is no longer in view. */
  private dropStale(level: number, view: View): void {
    for (const request of this.running) {
      const far = request.to < view.from || request.from > view.to;
      const coarse = request.level === this.overviewLevel;
      if (!coarse && ((far && !request.ahead) || Math.abs(request.level - level) > 1)) {
        request.abort.abort();
      }
    }
  }

  private get overviewLevel(): number | null {
    return this.overview && levelOf(nsPerPixel(this.overview.view));
  }

  private async start(request: Request & { source: Source; ahead: boolean }): Promise<void> {
    const running = { ...request, abort: new AbortController() };
    this.running.push(running);
    try {
      const call = { signal: running.abort.signal };
      const { source } = request;
      if (source === "curves") await this.fetchCurves(request, call);
      else await this.fetchSlices(request, source, call);
      this.events.onError(null);
      this.events.onData();
    } catch (error) {
      if (running.abort.signal.aborted) return;
      this.visible = null; // Not asked for again until someone moves.
      this.events.onError(error as Error);
    } finally {
      this.running = this.running.filter((other) => other !== running);
      if (this.visible && !running.abort.signal.aborted)
        this.show(this.visible.view, this.visible.tracks);
      this.reportLoading();
    }
  }

  private async fetchSlices(
    request: Request,
    source: "slices" | Overlay,
    call: Call,
  ): Promise<void> {
    const { head, slices } = await (source === "slices"
      ? this.api.slices(request, call)
      : this.api.overlay(source, request, call));
    this.names.add(head.names, head.short);
    this[source].add(request, byTrack(slices, request.tracks), head.slices + 1);
  }

  private async fetchCurves(request: Request, call: Call): Promise<void> {
    const { tracks } = await this.api.counters(request, call);
    const parts = new Map(tracks.map((curve) => [curve.track, curve]));
    const points = tracks.reduce((sum, { x }) => sum + x.length, 1);
    this.curves.add(request, parts, points);
  }

  private reportLoading(): void {
    this.events.onLoading(this.running.some((request) => !request.ahead));
  }
}

function covers(running: Running, request: Request, source: Source): boolean {
  if (running.source !== source || running.level !== request.level || running.abort.signal.aborted)
    return false;
  const tracks = new Set(running.tracks);
  const same = running.from <= request.from && running.to >= request.to;
  return same && request.tracks.every((track) => tracks.has(track));
}
