import type { Heading } from 'mdast';
import { type Block, end, isHeading, start } from './markdown.js';

/** A heading of depth 2 or 3 with its content, up to the next of these. */
export interface Section {
  readonly depth: 2 | 3;
  readonly heading: Block & Heading;
  readonly blocks: readonly Block[];
  /** The offsets of the text under the heading. */
  readonly bodyStart: number;
  readonly bodyEnd: number;
}

export interface Outline {
  readonly title?: Block & Heading;
  /** Blocks before the first section, without the title. */
  readonly brief: readonly Block[];
  readonly sections: readonly Section[];
  /** `#` headings that are not the title. */
  readonly lateTitles: readonly Block[];
}

/** Splits a file at its top-level `##` and `###`. The first `#` before them is the title. */
export function outline(blocks: readonly Block[], length: number): Outline {
  const firstAt = blocks.findIndex((block) => isHeading(block) && (block.depth === 2 || block.depth === 3));
  const before = firstAt < 0 ? blocks : blocks.slice(0, firstAt);
  const title = before.find((block) => isHeading(block) && block.depth === 1) as (Block & Heading) | undefined;
  const lateTitles = blocks.filter((block) => isHeading(block) && block.depth === 1 && block !== title);
  const sections: Section[] = [];
  let open: { heading: Block & Heading; blocks: Block[] } | undefined;
  const close = (bodyEnd: number) => {
    if (open) sections.push({ ...open, depth: open.heading.depth as 2 | 3, bodyStart: end(open.heading), bodyEnd });
  };
  for (const block of firstAt < 0 ? [] : blocks.slice(firstAt)) {
    if (isHeading(block) && (block.depth === 2 || block.depth === 3)) {
      close(start(block));
      open = { heading: block, blocks: [] };
    } else open?.blocks.push(block);
  }
  close(length);
  const brief = before.filter((block) => block !== title);
  return { ...(title ? { title } : {}), brief, sections, lateTitles };
}
