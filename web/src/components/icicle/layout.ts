// Places of the nodes of a tree: beneath their parent, as wide as their part of it.

export interface Tree {
  parent: number[];
  value: number[];
}

/** Arrays by node; `from` and `to` are parts of the whole width. */
export interface Layout {
  from: Float64Array;
  to: Float64Array;
  depth: Uint16Array;
  /** One past the last node below each: nodes are in pre-order. */
  end: Int32Array;
  /** Rows of the tree. */
  depths: number;
}

/** Lays nodes out in their order; parents with more in them than they take are made to fit. */
export function layoutTree({ parent, value }: Tree): Layout {
  const count = parent.length;
  const depth = new Uint16Array(count);
  const end = new Int32Array(count);
  const below = new Float64Array(count);
  let total = 0;
  for (let node = 0; node < count; node++) {
    const above = parent[node] as number;
    depth[node] = above < 0 ? 0 : (depth[above] as number) + 1;
    if (above < 0) total += value[node] as number;
    else below[above] = (below[above] as number) + (value[node] as number);
  }
  for (let node = count - 1; node >= 0; node--) {
    end[node] = Math.max(end[node] as number, node + 1);
    const above = parent[node] as number;
    if (above >= 0) end[above] = Math.max(end[above] as number, end[node] as number);
  }
  const from = new Float64Array(count);
  const to = new Float64Array(count);
  // Where the next child of each node, and the next root, begins.
  const next = new Float64Array(count);
  let root = 0;
  for (let node = 0; node < count; node++) {
    const above = parent[node] as number;
    if (above < 0) {
      from[node] = root;
      root = to[node] = root + (total > 0 ? (value[node] as number) / total : 0);
    } else {
      const room = (to[above] as number) - (from[above] as number);
      const base = Math.max(value[above] as number, below[above] as number);
      from[node] = next[above] as number;
      next[above] = to[node] =
        (from[node] as number) + (base > 0 ? (room * (value[node] as number)) / base : 0);
    }
    next[node] = from[node] as number;
  }
  const depths = depth.reduce((max, level) => Math.max(max, level + 1), 0);
  return { from, to, depth, end, depths };
}

/** The node at a part of the width (0 to 1, of the whole tree) and a depth; -1 for none. */
export function nodeAt(layout: Layout, part: number, depth: number): number {
  for (let node = 0; node < layout.from.length; ) {
    const inside = part >= (layout.from[node] as number) && part < (layout.to[node] as number);
    if (!inside) node = layout.end[node] as number;
    else if (layout.depth[node] === depth) return node;
    else node++;
  }
  return -1;
}

/** The nodes from the root down to a node. */
export function pathTo(parent: number[], node: number): number[] {
  const path: number[] = [];
  for (let at = node; at >= 0; at = parent[at] ?? -1) path.unshift(at);
  return path;
}

/** The node an arrow key leads to; the same where there is none. */
export function neighbour(tree: Tree, layout: Layout, node: number, key: string): number {
  const above = tree.parent[node] ?? -1;
  const { end, depth } = layout;
  if (key === "ArrowUp") return above >= 0 ? above : node;
  if (key === "ArrowDown") return (end[node] as number) > node + 1 ? node + 1 : node;
  if (key === "ArrowRight") {
    const next = end[node] as number;
    return next < tree.parent.length && tree.parent[next] === above ? next : node;
  }
  for (let at = node - 1; at > above && at >= 0; at--) {
    if (depth[at] === depth[node]) return at;
  }
  return node;
}
