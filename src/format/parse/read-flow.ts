import { checkBlocks } from './check-blocks.js';
import { checkFlowKeys } from './check-flow-keys.js';
import { checkSteps } from './check-steps.js';
import { checkTriggerValues } from './check-trigger-values.js';
import { withCurrentIds } from './current-ids.js';
import type { ReadFlow, ReadNode } from './flow-model.js';
import { readHeading } from './heading.js';
import { checkIgnoredHeadings } from './ignored/check-ignored-headings.js';
import { checkIgnoredKeys } from './ignored/check-ignored-keys.js';
import { checkIgnoredOptions } from './ignored/check-ignored-options.js';
import { FLOW_KEYS } from './keys/flow-keys.js';
import { end, parseBlocks, start } from './markdown.js';
import type { OpenFile } from './open-file.js';
import { readProse, without } from './prose.js';
import { readKeys } from './read-keys.js';
import { readGroup, readStep } from './read-step.js';
import { outline, type Section } from './sections.js';
import { report } from './source.js';

/** Reads a flow's file: its keys, its brief and its steps. Null when it exceeds the parser's limits. */
export function readFlow(file: OpenFile, name: string): ReadFlow | null {
  const keys = readKeys(file, FLOW_KEYS, { node: file.node, kind: 'flow' });
  const blocks = parseBlocks(file);
  if (blocks === null) return null;
  const { title, brief, sections, lateTitles } = outline(blocks, file.source.text.length);
  checkBlocks(file, blocks, lateTitles);
  checkIgnoredHeadings(file, blocks);
  if (!checkIgnoredKeys(file, FLOW_KEYS, 'flow')) checkIgnoredOptions(file, 'brief', { blocks: brief, read: [] });
  const nodes = readNodes(file, sections);
  const briefEnd = sections[0] ? start(sections[0].heading) : file.source.text.length;
  const parts = title ? [{ start: start(title), end: end(title) }] : [];
  const flow = withCurrentIds({
    kind: 'flow',
    name,
    ...(title ? { title: readHeading(file.source.text.slice(start(title), end(title)), start(title)).title } : {}),
    keys,
    brief: readProse(file.source, without({ start: file.bodyStart, end: briefEnd }, parts)),
    nodes,
  });
  if (sections.length === 0) {
    const hint = 'A step begins with a heading such as `## Draft @writer`.';
    report(file, file.bodyStart, { code: 'flow/no-steps', message: 'This flow has no step.', hint });
  }
  checkFlowKeys(file, flow);
  checkTriggerValues(file, flow);
  checkSteps(file, flow);
  return flow;
}

function readNodes(file: OpenFile, sections: readonly Section[]): ReadNode[] {
  const nodes: ReadNode[] = [];
  let n = 1;
  for (let at = 0; at < sections.length; ) {
    const section = sections[at] as Section;
    const after = sections.slice(at + 1).findIndex((next) => next.depth === 2);
    const branches = section.depth === 3 ? [] : sections.slice(at + 1, after < 0 ? undefined : at + 1 + after);
    if (section.depth === 3) {
      const message = 'This `###` is not under a `##`.';
      report(file, start(section.heading), {
        code: 'flow/orphan-branch',
        message,
        hint: 'Write `##`, or a `##` group before it.',
      });
    }
    if (branches.length === 0) nodes.push(readStep(file, section, n));
    else nodes.push(readGroup(file, section, { branches, n }));
    n += Math.max(1, branches.length);
    at += 1 + branches.length;
  }
  return nodes;
}
