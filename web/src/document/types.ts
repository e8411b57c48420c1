// What the pages show: a document of sections, each a list of blocks.  Python writes it
// (`output/blocks.py` spells the same types); a block says what is to be seen, never how.

/** How a number is to be read; `format/format.ts` words each of them. */
export type Kind =
  | "text"
  | "time_ns" // a length of time
  | "moment_ns" // a point in time, since the start of the recording
  | "bytes"
  | "bytes_per_s" // as bytes, with "/s"
  | "count"
  | "number"
  | "share" // 0 to 1
  | "percent" // 0 to 100
  | "p_value"; // how likely chance alone is

/** Meaning for the reader; never shown by colour alone. */
export type Tone = "plain" | "good" | "notice" | "warning" | "bad";

export interface Document {
  schema: "timesink/document/1";
  kind:
    | "analysis"
    | "kernels"
    | "comparison"
    | "diagnosis"
    | "info"
    | "whatif"
    | "history"
    | "watch";
  /** For the title of the window. */
  title: string;
  /** What was read: file, worker, device. */
  subject: string;
  /** The answer in a sentence. */
  headline: string;
  tone: Tone;
  version: string;
  sections: Section[];
  /** Clock of its times, unless a section has its own; "" or missing for as recorded. */
  clock?: Clock | "";
}

export interface Section {
  /** Unique in the document; anchors and pages of the app name it. */
  id: string;
  title: string;
  /** A sentence below the title. */
  lead: string;
  blocks: Block[];
  /** Clock of its times where there are sections of both; else "" or missing. */
  clock?: Clock | "";
}

/** Without profiler overhead ("own"), or as recorded. */
export type Clock = "own" | "recorded";

export type Block =
  | Text
  | Facts
  | Tiles
  | Parts
  | Stacks
  | Findings
  | Verdict
  | Attribution
  | Causes
  | Table
  | Curves
  | Picture
  | Icicle
  | Tree
  | Heatmap
  | Scatter
  | Health;

export interface Text {
  type: "text";
  text: string;
  tone: Tone;
}

export interface Facts {
  type: "facts";
  rows: [label: string, value: string][];
}

/** Key figures. */
export interface Tiles {
  type: "tiles";
  tiles: Tile[];
}

export interface Tile {
  label: string;
  value: number | null;
  kind: Kind;
  /** A sentence for hover and screen readers. */
  help: string;
  /** 0 to 1 where the figure is a part of a whole: drawn as a bar. */
  share: number | null;
  tone: Tone;
  /** Id of the section, or page of the app, that tells more; missing or "" where none does. */
  section?: string;
}

/** A whole and its parts, as one bar with a legend. */
export interface Parts {
  type: "parts";
  title: string;
  kind: Kind;
  total: number;
  parts: Part[];
}

export interface Part {
  /** Decides the colour, e.g. "kernel", "communication"; the same everywhere. */
  id: string;
  name: string;
  value: number;
  help: string;
}

/** One bar of parts per step (or worker, or device). */
export interface Stacks {
  type: "stacks";
  title: string;
  kind: Kind;
  labels: string[];
  parts: { id: string; name: string; values: number[] }[];
}

export interface Findings {
  type: "findings";
  items: Finding[];
  /** What to say when there is none. */
  empty: string;
}

export interface Finding {
  rule: string;
  severity: "high" | "medium" | "low";
  title: string;
  sentence: string;
  advice: string;
  /** Estimated saving, as a clause; may be empty. */
  gain: string;
  evidence: string[];
  links: Link[];
}

/** To a place in the app; a report shows those it can follow (`section`) and the others as text. */
export interface Link {
  label: string;
  /** Id of a section of the document, or of a page of the app. */
  section: string;
  /** Row to look for in the tables of that section; may be empty. */
  search: string;
  /** Place in the trace, nanoseconds since its start; null where there is none. */
  from_ns: number | null;
  to_ns: number | null;
}

export interface Verdict {
  type: "verdict";
  verdict: "regression" | "improvement" | "no_change" | "undecided" | "incomparable";
  /** The verdict for people, e.g. "slower", "no real difference". */
  word: string;
  sentence: string;
  base: { label: string; value: number | null };
  new: { label: string; value: number | null };
  kind: Kind;
  /** Change and its interval, as ratios (0.23 is 23 % more); null where there is none. */
  change: number | null;
  low: number | null;
  high: number | null;
  /** Confidence, number of steps, level: a clause each. */
  notes: string[];
}

/** Where a change comes from: bars to both sides of zero that add up to the change. */
export interface Attribution {
  type: "attribution";
  title: string;
  kind: Kind;
  change: number;
  rows: {
    id: string;
    name: string;
    help: string;
    base: number;
    new: number;
    change: number;
    low: number | null;
    high: number | null;
    /** Whether it stands out of the noise. */
    sure: boolean;
  }[];
}

export interface Causes {
  type: "causes";
  items: Cause[];
  empty: string;
}

export interface Cause {
  /** The code, e.g. "gpu_clock". */
  cause: string;
  /** "cause", "anomaly" or "slow cycle": what the card stands for. */
  role: string;
  title: string;
  sentence: string;
  /** Part of the change it explains; null where it explains none. */
  explained: number | null;
  kind: Kind;
  /** 0 to 1: part of the change, or severity of an anomaly; null where there is none. */
  share: number | null;
  /** What `share` is a share of, e.g. "of the change", "severity". */
  share_word: string;
  advice: string;
  evidence: string[];
  links: Link[];
}

export interface Table {
  type: "table";
  /** Unique in the document. */
  id: string;
  title: string;
  columns: Column[];
  /** Rows in `columns`; the first ones of `total_rows`. */
  rows: number;
  total_rows: number;
  /** What to say below, e.g. why it is empty. */
  note: string;
  /** Column it is sorted by and whether the largest come first. */
  sort: { key: string; descending: boolean } | null;
  /** Whether long texts are shown whole at first. */
  whole?: boolean;
}

export interface Column {
  key: string;
  title: string;
  kind: Kind;
  /** What the column means. */
  help: string;
  /** Shown unless the reader asks for more. */
  main: boolean;
  /** Whether numbers get a bar behind them. */
  bar: boolean;
  /** Changes: positive values have a plus sign. */
  signed?: boolean;
  /** What a click on a cell leads to in the app; "" for nothing. */
  link: "" | "operator" | "kernel" | "module" | "moment" | "worker" | "incident" | "report";
  data: ColumnData;
}

/** Numbers, or text that repeats as codes into its distinct values (-1 is none). */
export type ColumnData = { values: (number | null)[] } | Texts;

export interface Texts {
  codes: number[];
  texts: string[];
}

export interface Curves {
  type: "curves";
  id: string;
  title: string;
  /** Of the values; x is nanoseconds since the start of the recording, unless it has labels. */
  kind: Kind;
  x: number[];
  series: Curve[];
  marks: { x: number; label: string }[];
  /** What each x is called, where it is no moment. */
  labels: string[];
  /** Whether zero is in sight; of levels, differences matter. */
  from_zero: boolean;
  /** Whether x counts from midnight: moments are then times of day. */
  of_day?: boolean;
}

export interface Curve {
  name: string;
  values: (number | null)[];
  /** A band is filled down to the curve before it. */
  shape: "line" | "step" | "area" | "dots" | "band";
}

/** A drawing made by timesink itself (never by a trace). */
export interface Picture {
  type: "picture";
  title: string;
  svg: string;
  caption: string;
}

/** A tree as nested bars; nodes in pre-order, parents before children. */
export interface Icicle {
  type: "icicle";
  id: string;
  title: string;
  kind: Kind;
  /** Index of the parent, -1 for roots. */
  parent: number[];
  codes: number[];
  texts: string[];
  value: number[];
  /** Further figures of each node for hover and the table beside, e.g. calls. */
  details: { title: string; kind: Kind; values: (number | null)[] }[];
}

/** Call trees of base and new as one, nodes in pre-order, with the state of each. */
export interface Tree {
  type: "tree";
  id: string;
  title: string;
  depth: number[];
  names: Texts;
  /** "added", "removed", "changed", "varies" or "same". */
  states: Texts;
  /** Nodes below each that are not seen at first, whether they are here or not. */
  folded: number[];
  base: TreeSide;
  new: TreeSide;
  /** Nodes to be seen at first, of which the last may be missing. */
  total: number;
}

export interface TreeSide {
  label: string;
  /** Figures of each node: calls, device time, ... */
  details: Icicle["details"];
  /** Where in its trace each node comes first; null where it does not, empty where not known. */
  moments_ns: (number | null)[];
}

/** Rows x columns of one number each, as colours; no value is negative. */
export interface Heatmap {
  type: "heatmap";
  id: string;
  title: string;
  kind: Kind;
  /** What the numbers, rows and columns are, e.g. "wait caused", "rank", "step". */
  value_title: string;
  row_title: string;
  column_title: string;
  columns: string[];
  rows: HeatRow[];
  /** What marked rows have in common. */
  mark_title: string;
  /** What rows and columns stand for where they are not one thing each. */
  note: string;
}

export interface HeatRow {
  name: string;
  /** One per column; null where there is none. */
  values: (number | null)[];
  /** What to know of the row, e.g. why it is marked. */
  about: string;
  /** The recording it is of; empty where it stands for several. */
  worker: string;
  marked: boolean;
}

/** Points on two logarithmic axes, below the roofs of what can be; areas are sizes. */
export interface Scatter {
  type: "scatter";
  id: string;
  title: string;
  x_title: string;
  y_title: string;
  size_title: string;
  /** Of the sizes. */
  kind: Kind;
  /** The largest first. */
  points: Point[];
  /** By `id`, which decides the colour. */
  groups: { id: string; name: string }[];
  roofs: Roof[];
  /** Further figures of each point. */
  details: Icicle["details"];
  /** What a click on a point leads to in the app. */
  link: Column["link"];
  /** Section of a report whose tables have it. */
  section: string;
  /** What is not in the picture. */
  note: string;
}

export interface Point {
  name: string;
  /** What tells it from others of that name. */
  about: string;
  x: number;
  y: number;
  size: number;
  group: string;
}

export interface Roof {
  name: string;
  /** The highest y; where it slopes, by each x. */
  value: number;
  slopes: boolean;
}

export interface Health {
  type: "health";
  items: {
    code: string;
    severity: "error" | "warning" | "info";
    count: number;
    title: string;
    told: string;
    consequence: string;
    advice: string;
  }[];
}
