import { describe, expect, it } from "vitest";
import { layoutTree, neighbour, nodeAt, pathTo } from "./layout";

// root 100 > (a 60 > (c 60), b 20), other 100
const TREE = { parent: [-1, 0, 1, 0, -1], value: [100, 60, 60, 20, 100] };
const [ROOT, A, C, B, OTHER] = [0, 1, 2, 3, 4];

describe("the places of nodes", () => {
  const layout = layoutTree(TREE);

  it("are beneath their parents, as wide as their part", () => {
    expect([...layout.from]).toEqual([0, 0, 0, 0.3, 0.5]);
    expect([...layout.to]).toEqual([0.5, 0.3, 0.3, 0.4, 1]);
    expect([...layout.depth]).toEqual([0, 1, 2, 1, 0]);
    expect(layout.depths).toBe(3);
  });

  it("fit into their parent also when they take more than it", () => {
    const { to } = layoutTree({ parent: [-1, 0, 0], value: [10, 15, 5] });
    expect([...to]).toEqual([1, 0.75, 1]);
  });

  it("are found below the mouse", () => {
    expect(nodeAt(layout, 0.35, 1)).toBe(B);
    expect(nodeAt(layout, 0.45, 1)).toBe(-1);
    expect(nodeAt(layout, 0.9, 0)).toBe(OTHER);
  });

  it("are reached by arrow keys", () => {
    const go = (node: number, key: string) => neighbour(TREE, layout, node, key);
    expect(go(ROOT, "ArrowDown")).toBe(A);
    expect(go(C, "ArrowUp")).toBe(A);
    expect(go(A, "ArrowRight")).toBe(B);
    expect(go(B, "ArrowLeft")).toBe(A);
    expect(go(ROOT, "ArrowRight")).toBe(OTHER);
    expect(go(OTHER, "ArrowLeft")).toBe(ROOT);
    expect(go(B, "ArrowRight")).toBe(B);
    expect(go(ROOT, "ArrowUp")).toBe(ROOT);
  });

  it("have a path from the root", () => {
    expect(pathTo(TREE.parent, C)).toEqual([ROOT, A, C]);
    expect(pathTo(TREE.parent, -1)).toEqual([]);
  });
});
