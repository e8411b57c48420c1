// What has been answered, and what is still to be asked for.
//
// Resolution comes in powers of two and time in tiles of 512 pixels of that resolution, so that
// moving to and fro meets answers that are there already.  Until better ones come, parts in view
// are shown from the nearest other resolution.

export interface Span {
  from: number;
  to: number;
}

/** An answer for one track: what was asked for and what came. */
export interface Chunk<Data> extends Span {
  level: number;
  data: Data;
  answer: Answer;
}

/** Bookkeeping of one answer, shared by the chunks of its tracks. */
interface Answer {
  key: string;
  size: number;
  used: number;
  tracks: number[];
}

/** A chunk and the part of it to show. */
export interface Piece<Data> extends Span {
  chunk: Chunk<Data>;
}

export interface Request extends Span {
  level: number;
  pixels: number;
  tracks: number[];
}

const TILE_PIXELS = 512;

/** The power of two of nanoseconds per pixel that shows every pixel of the view. */
export function levelOf(nsPerPixel: number): number {
  return Math.max(-6, Math.floor(Math.log2(nsPerPixel)));
}

/** The span widened to whole tiles, within the recording. */
export function alignToTiles(span: Span, level: number, length: number): Span {
  const tile = TILE_PIXELS * 2 ** level;
  const from = Math.max(0, Math.floor(span.from / tile) * tile);
  const to = Math.min(length, Math.ceil(span.to / tile) * tile);
  return { from, to: Math.max(to, from) };
}

export class Windows<Data> {
  private readonly tracks = new Map<number, Chunk<Data>[]>();
  private readonly answers = new Map<string, Answer>();
  private clock = 0;
  private totalSize = 0;
  private readonly limit: number;

  /** Holds answers of at most `limit` in size together, forgetting the longest unused. */
  constructor(limit: number) {
    this.limit = limit;
  }

  /** Keeps an answer; `parts` has the data of each track asked for. */
  add(request: Request, parts: ReadonlyMap<number, Data>, size: number): void {
    const key = `${request.level}/${request.from}/${request.to}/${request.tracks.join(",")}`;
    if (this.answers.has(key)) return;
    const answer = { key, size, used: ++this.clock, tracks: [...request.tracks] };
    this.answers.set(key, answer);
    this.totalSize += size;
    for (const track of request.tracks) {
      const data = parts.get(track);
      if (data === undefined) continue;
      const { from, to, level } = request;
      const chunks = this.tracks.get(track) ?? [];
      chunks.push({ from, to, level, data, answer });
      this.tracks.set(track, chunks);
    }
    this.forget(answer);
  }

  /** Pieces that together show the span as well as can be, by time. */
  pieces(track: number, level: number, span: Span): Piece<Data>[] {
    const chunks = this.tracks.get(track);
    if (!chunks) return [];
    const byFitness = [...chunks].sort((a, b) => distance(a, level) - distance(b, level));
    const pieces: Piece<Data>[] = [];
    let gaps: Span[] = [span];
    for (const chunk of byFitness) {
      if (!gaps.length) break;
      const left: Span[] = [];
      for (const gap of gaps) {
        const from = Math.max(gap.from, chunk.from);
        const to = Math.min(gap.to, chunk.to);
        if (to <= from) {
          left.push(gap);
          continue;
        }
        pieces.push({ from, to, chunk });
        chunk.answer.used = ++this.clock;
        if (gap.from < from) left.push({ from: gap.from, to: from });
        if (to < gap.to) left.push({ from: to, to: gap.to });
      }
      gaps = left;
    }
    return pieces.sort((a, b) => a.from - b.from);
  }

  /** What to ask for so that the span is known at this level; tracks that lack the same together. */
  missingRequests(tracks: readonly number[], level: number, span: Span, length: number): Request[] {
    const aligned = alignToTiles(span, level, length);
    const requests = new Map<string, Request>();
    for (const track of tracks) {
      for (const { from, to } of this.gaps(track, level, aligned)) {
        const key = `${from}/${to}`;
        const pixels = Math.max(1, Math.ceil((to - from) / 2 ** level));
        const request = requests.get(key) ?? { from, to, level, pixels, tracks: [] };
        request.tracks.push(track);
        requests.set(key, request);
      }
    }
    return [...requests.values()];
  }

  private gaps(track: number, level: number, aligned: Span): Span[] {
    let gaps = aligned.to > aligned.from ? [aligned] : [];
    for (const chunk of this.tracks.get(track) ?? []) {
      if (chunk.level !== level) continue;
      gaps = gaps.flatMap((gap) =>
        [
          { from: gap.from, to: Math.min(gap.to, chunk.from) },
          { from: Math.max(gap.from, chunk.to), to: gap.to },
        ].filter((rest) => rest.to > rest.from),
      );
    }
    return gaps;
  }

  private forget(newest: Answer): void {
    if (this.totalSize <= this.limit) return;
    for (const answer of [...this.answers.values()].sort((a, b) => a.used - b.used)) {
      if (this.totalSize <= this.limit * 0.8) return;
      if (answer === newest) continue;
      this.answers.delete(answer.key);
      this.totalSize -= answer.size;
      for (const track of answer.tracks) {
        const left = (this.tracks.get(track) ?? []).filter((chunk) => chunk.answer !== answer);
        this.tracks.set(track, left);
      }
    }
  }
}

/** How far a chunk is from what is wanted; finer ones are better than coarser ones. */
function distance(chunk: { level: number }, level: number): number {
  return chunk.level <= level ? level - chunk.level : (chunk.level - level) * 1.5;
}
