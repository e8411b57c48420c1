import type { Block, Section } from "../document/types";
import { BlockView } from "./BlockView";
import { TitlesAbove } from "./Caption";
import { Prose } from "./Prose";

/**
 * A section with its title; blocks from the causes on stand beside a verdict, blocks before it
 * above.
 */
export function SectionView({ section }: { section: Section }) {
  const { id, title, lead, blocks } = section;
  const causes = blocks.findIndex((block) => block.type === "causes");
  const verdict = blocks.findIndex((block) => block.type === "verdict");
  const split = causes > verdict && verdict >= 0;
  const from = split ? verdict : 0;
  return (
    <section class={`section ${split ? "split" : ""}`} id={id} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      {lead && (
        <p class="lead">
          <Prose text={lead} />
        </p>
      )}
      {from > 0 && <Column title={title} blocks={blocks.slice(0, from)} />}
      <div class="columns">
        <Column title={title} blocks={split ? blocks.slice(from, causes) : blocks} />
        {split && <Column title={title} blocks={blocks.slice(causes)} />}
      </div>
    </section>
  );
}

function Column({ title, blocks }: { title: string; blocks: Block[] }) {
  return (
    <div class="column">
      {runsOfPictures(blocks).map((run, index, runs) => (
        <TitlesAbove.Provider
          key={keyOf(run[0]) ?? index}
          value={[title, titleOf(runs[index - 1]?.at(-1))]}
        >
          {run.length > 1 ? (
            <div class="pictures">
              {run.map((block, at) => (
                <BlockView key={at} block={block} />
              ))}
            </div>
          ) : (
            run[0] && <BlockView block={run[0]} />
          )}
        </TitlesAbove.Provider>
      ))}
    </div>
  );
}

/** Blocks one by one, but pictures that follow each other together: they stand side by side. */
function runsOfPictures(blocks: Block[]): Block[][] {
  const runs: Block[][] = [];
  for (const block of blocks) {
    const last = runs.at(-1);
    if (block.type === "picture" && last?.[0]?.type === "picture") last.push(block);
    else runs.push([block]);
  }
  return runs;
}

/** Blocks that are known by an id stay what they are when others come before them. */
function keyOf(block: Block | undefined): string | undefined {
  return block && "id" in block ? block.id : undefined;
}

function titleOf(block: Block | undefined): string {
  return block && "title" in block ? block.title : "";
}
