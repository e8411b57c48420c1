import type { Block } from "../document/types";
import { Attribution } from "./Attribution";
import { Causes } from "./Causes";
import { Code } from "./Code";
import { Curves } from "./Curves";
import { Facts } from "./Facts";
import { Findings } from "./Findings";
import { Health } from "./Health";
import { Heatmap } from "./Heatmap";
import { Icicle } from "./Icicle";
import { Parts } from "./Parts";
import { Picture } from "./Picture";
import { Scatter } from "./Scatter";
import { Stacks } from "./Stacks";
import { Table } from "./Table";
import { Text } from "./Text";
import { Tiles } from "./Tiles";
import { Tree } from "./Tree";
import { Verdict } from "./Verdict";

/** Any block of a document. */
export function BlockView({ block }: { block: Block }) {
  switch (block.type) {
    case "text":
      return <Text block={block} />;
    case "facts":
      return <Facts block={block} />;
    case "tiles":
      return <Tiles block={block} />;
    case "parts":
      return <Parts block={block} />;
    case "stacks":
      return <Stacks block={block} />;
    case "findings":
      return <Findings block={block} />;
    case "verdict":
      return <Verdict block={block} />;
    case "attribution":
      return <Attribution block={block} />;
    case "causes":
      return <Causes block={block} />;
    case "table":
      return <Table block={block} />;
    case "curves":
      return <Curves block={block} />;
    case "picture":
      return <Picture block={block} />;
    case "code":
      return <Code block={block} />;
    case "icicle":
      return <Icicle block={block} />;
    case "tree":
      return <Tree block={block} />;
    case "heatmap":
      return <Heatmap block={block} />;
    case "scatter":
      return <Scatter block={block} />;
    case "health":
      return <Health block={block} />;
    default:
      // A document of a later timesink may hold blocks this page does not know.
      return null;
  }
}
