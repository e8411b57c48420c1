// What the pages show: a document of sections, each a list of blocks; a block says what is to be
// seen, never how.  Generated from `src/timesink/output/blocks.py` by `make docs`; do not edit.

export type Kind =
  | "text"
  | "time_ns"
  | "moment_ns"
  | "bytes"
  | "bytes_per_s"
  | "count"
  | "number"
  | "share"
  | "percent"
  | "p_value";

export type Tone = "plain" | "good" | "notice" | "warning" | "bad";

/** Of dotted paths the start goes, which many have in common; some words are told whole. */
export type Cut = "end" | "start" | "nothing";

export type Medium = "" | "page" | "text";

/** Times of the program by itself, or as they were recorded; nothing where that is one. */
export type Clock = "" | "own" | "recorded";

export type CellLink =
  | ""
  | "operator"
  | "kernel"
  | "module"
  | "moment"
  | "worker"
  | "incident"
  | "report";

/** To a section of the document (or page of the app), a row in it, a place in the trace. */
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

export interface Text {
  type: "text";
  text: string;
  tone: Tone;
}

export interface Facts {
  type: "facts";
  rows: [label: string, value: string][];
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
  /** Section of the document, or page of the app, that tells more. */
  section?: string;
}

/** Key figures. */
export interface Tiles {
  type: "tiles";
  tiles: Tile[];
}

export interface Part {
  /** Decides the colour, e.g. "kernel", "communication"; the same everywhere. */
  id: string;
  name: string;
  value: number;
  help: string;
}

/** A whole and its parts, as one bar with a legend. */
export interface Parts {
  type: "parts";
  title: string;
  kind: Kind;
  total: number;
  parts: Part[];
}

export interface StackPart {
  id: string;
  name: string;
  values: number[];
}

/** One bar of parts per step, worker or device. */
export interface Stacks {
  type: "stacks";
  title: string;
  kind: Kind;
  labels: string[];
  parts: StackPart[];
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

export interface Findings {
  type: "findings";
  items: Finding[];
  /** What to say when there is none. */
  empty: string;
}

export interface Measured {
  label: string;
  value: number | null;
}

export interface Verdict {
  type: "verdict";
  verdict: "regression" | "improvement" | "no_change" | "undecided" | "incomparable";
  /** The verdict for people, e.g. "slower", "no real difference". */
  word: string;
  sentence: string;
  base: Measured;
  new: Measured;
  kind: Kind;
  /** Change and its interval, as ratios (0.23 is 23 % more); null where there is none. */
  change: number | null;
  low: number | null;
  high: number | null;
  /** Confidence, number of steps, level: a clause each. */
  notes: string[];
}

export interface AttributedPart {
  id: string;
  name: string;
  help: string;
  base: number;
  new: number;
  change: number;
  low: number | null;
  high: number | null;
  sure: boolean;
}

/** Where a change comes from: rows add up to the change. */
export interface Attribution {
  type: "attribution";
  title: string;
  kind: Kind;
  change: number;
  rows: AttributedPart[];
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

export interface Causes {
  type: "causes";
  items: Cause[];
  empty: string;
}

export interface Numbers {
  values: (number | null)[];
}

/** Text that repeats: codes into its distinct values, -1 for none. */
export interface Texts {
  codes: number[];
  texts: string[];
}

export interface Column {
  key: string;
  title: string;
  kind: Kind;
  data: Numbers | Texts;
  /** What the column means. */
  help: string;
  /** Whether it is seen at once on a page; text and Markdown have it, or what may be spared. */
  main: boolean;
  /** Whether numbers get a bar behind them. */
  bar: boolean;
  /** What a click on a cell leads to in the app; "" for nothing. */
  link: CellLink;
  /** Changes: a plus is told as well. */
  signed?: boolean;
}

export interface Sort {
  key: string;
  descending: boolean;
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
  /** What is to be known of it, such as why it is empty. */
  note: string;
  /** Column it is sorted by and whether the largest come first. */
  sort: Sort | null;
  /** Whether pages show long texts whole at first. */
  whole?: boolean;
}

export interface Curve {
  name: string;
  values: (number | null)[];
  /** A band is filled down to the curve before it. */
  shape: "line" | "step" | "area" | "dots" | "band";
}

export interface Mark {
  x: number;
  label: string;
}

/** Values over time; x is nanoseconds since the start of the recording. */
export interface Curves {
  type: "curves";
  id: string;
  title: string;
  /** Of the values; x is nanoseconds since the start of the recording, unless it has labels. */
  kind: Kind;
  x: number[];
  series: Curve[];
  marks: Mark[];
  /** What each x is called, where it is no moment. */
  labels: string[];
  /** Whether zero is in sight; of levels, differences matter. */
  from_zero: boolean;
  /** Whether x counts from midnight: moments are then told as times of day. */
  of_day?: boolean;
}

/** A drawing of ours; names of a trace stand in it as escaped text only. */
export interface Picture {
  type: "picture";
  title: string;
  svg: string;
  caption: string;
}

/** Code of a program or of a compiler, folded up at first. */
export interface Code {
  type: "code";
  title: string;
  lines: string[];
  /** What to know of it, such as what is left out. */
  note: string;
}

export interface Detail {
  title: string;
  kind: Kind;
  values: (number | null)[];
}

/** A tree, nodes in pre-order; `parent` is -1 for roots, `codes` point into `texts`. */
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
  details: Detail[];
}

/** What one side has at each node. */
export interface TreeSide {
  label: string;
  /** Figures of each node: calls, device time, ... */
  details: Detail[];
  /** Where in its trace each node comes first; None where it does not. */
  moments_ns: (number | null)[];
}

/** Two sides as one tree, nodes in pre-order, with what became of each. */
export interface Tree {
  type: "tree";
  id: string;
  title: string;
  depth: number[];
  names: Texts;
  /** "added", "removed", "changed", "varies" or "same". */
  states: Texts;
  /** Nodes below it that are not seen at first, whether they are here or not. */
  folded: number[];
  base: TreeSide;
  new: TreeSide;
  /** Nodes to be seen at first, of which the last may be missing. */
  total: number;
}

export interface HeatRow {
  name: string;
  /** One per column; None where there is none. */
  values: (number | null)[];
  /** What to know of the row, e.g. why it is marked. */
  about: string;
  /** The recording it is of; empty where it stands for several. */
  worker: string;
  marked: boolean;
}

/** Rows x columns of one number each, told by colour; nothing is below zero. */
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

export interface Point {
  name: string;
  /** What tells it from others of that name. */
  about: string;
  x: number;
  y: number;
  size: number;
  group: string;
}

export interface PointGroup {
  /** Decides the colour. */
  id: string;
  name: string;
}

export interface Roof {
  name: string;
  /** The highest y; where it slopes, by each x. */
  value: number;
  slopes: boolean;
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
  groups: PointGroup[];
  roofs: Roof[];
  /** Further figures of each point. */
  details: Detail[];
  /** What a click on a point leads to in the app. */
  link: CellLink;
  /** Section of a report whose tables have it. */
  section: string;
  /** What is not in the picture. */
  note: string;
}

export interface HealthItem {
  code: string;
  severity: "error" | "warning" | "info";
  count: number;
  title: string;
  told: string;
  consequence: string;
  advice: string;
}

export interface Health {
  type: "health";
  items: HealthItem[];
}

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
  | Code
  | Icicle
  | Tree
  | Heatmap
  | Scatter
  | Health;

/** Blocks under a heading; several texts in a row are a list. */
export interface Section {
  /** Unique in the document; anchors and pages of the app name it. */
  id: string;
  title: string;
  blocks: Block[];
  /** A sentence below the title. */
  lead: string;
  /**
   * Of two sections with one id, one for each clock, a reader sees one; text that of the
   * document.
   */
  clock?: Clock;
}

export interface Document {
  kind:
    | "analysis"
    | "kernels"
    | "comparison"
    | "diagnosis"
    | "info"
    | "cycles"
    | "behaviour"
    | "table"
    | "whatif"
    | "history"
    | "watch";
  /** For the title of the window. */
  title: string;
  /** What was read: file, worker, device. */
  subject: string;
  /** The answer in a sentence. */
  headline: string;
  version: string;
  sections: Section[];
  tone: Tone;
  schema: "timesink/document/1";
  /** What all of its times are on, but for sections that say otherwise. */
  clock?: Clock;
}
