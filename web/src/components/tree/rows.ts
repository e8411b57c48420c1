// Which nodes of a tree are to be seen, and where keys lead among them.

import type { Tree } from "../../document/types";

export type State = "added" | "removed" | "changed" | "varies" | "same";

export interface VisibleNode {
  node: number;
  /** Whether there is something below it, and whether that is seen; undefined without any. */
  open: boolean | undefined;
}

export interface View {
  /** Nodes that are not as the document has them: folded ones opened, others closed. */
  toggled: ReadonlySet<number>;
  /** What names must hold, in small letters; "" for anything. */
  search: string;
  /** Only what both sides do not have alike. */
  onlyDifferences: boolean;
}

export function nameOf(tree: Tree, node: number): string {
  return tree.names.texts[tree.names.codes[node] ?? -1] ?? "";
}

export function stateOf(tree: Tree, node: number): State {
  return (tree.states.texts[tree.states.codes[node] ?? -1] ?? "same") as State;
}

/** The node after all that is below a node. */
export function endOf(tree: Tree, node: number): number {
  let end = node + 1;
  while (end < tree.depth.length && (tree.depth[end] as number) > (tree.depth[node] as number))
    end++;
  return end;
}

/** The caller of a node; -1 for none. */
export function parentOf(tree: Tree, node: number): number {
  let above = node - 1;
  while (above >= 0 && (tree.depth[above] as number) >= (tree.depth[node] as number)) above--;
  return above;
}

/** The nodes to be seen, in order: what is searched is found wherever it is folded away. */
export function visibleNodes(
  tree: Tree,
  { toggled, search, onlyDifferences }: View,
): VisibleNode[] {
  const matches = search ? matchingNodes(tree, search) : null;
  const seen: VisibleNode[] = [];
  for (let node = 0; node < tree.depth.length; ) {
    const end = endOf(tree, node);
    const hides = onlyDifferences && stateOf(tree, node) === "same";
    if (hides || (matches && !matches.has(node))) {
      node = end;
      continue;
    }
    const folded = (tree.folded[node] as number) > 0;
    const open = below(matches, node, end) || folded === toggled.has(node);
    seen.push({ node, open: end > node + 1 ? open : undefined });
    node = open ? node + 1 : end;
  }
  return seen;
}

/** Whether anything below a node is wanted. */
function below(matches: Set<number> | null, node: number, end: number): boolean {
  if (!matches) return false;
  for (let at = node + 1; at < end; at++) if (matches.has(at)) return true;
  return false;
}

/** Nodes whose names hold a text, and those that lead to them. */
function matchingNodes(tree: Tree, search: string): Set<number> {
  const nodes = new Set<number>();
  for (let node = 0; node < tree.depth.length; node++) {
    if (!nameOf(tree, node).toLowerCase().includes(search)) continue;
    for (let at = node; at >= 0 && !nodes.has(at); at = parentOf(tree, at)) nodes.add(at);
  }
  return nodes;
}

export interface Move {
  node: number;
  turn: boolean;
}

/** Where a key leads from a row, and whether it folds or unfolds it; null for other keys. */
export function moveForKey(tree: Tree, seen: VisibleNode[], at: number, key: string): Move | null {
  const here = seen[at];
  if (!here) return null;
  const to = (index: number) => ({
    node: (seen[Math.max(0, Math.min(index, seen.length - 1))] as VisibleNode).node,
    turn: false,
  });
  const turn = { node: here.node, turn: true };
  switch (key) {
    case "ArrowDown":
      return to(at + 1);
    case "ArrowUp":
      return to(at - 1);
    case "Home":
      return to(0);
    case "End":
      return to(seen.length - 1);
    case "ArrowRight":
      return here.open === false ? turn : here.open ? to(at + 1) : to(at);
    case "ArrowLeft": {
      if (here.open) return turn;
      const above = parentOf(tree, here.node);
      return above >= 0 ? { node: above, turn: false } : to(at);
    }
    case "Enter":
    case " ":
      return here.open === undefined ? null : turn;
    default:
      return null;
  }
}
