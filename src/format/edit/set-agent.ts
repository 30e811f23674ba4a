import { end, start } from '../parse/markdown.js';
import { editStep, UNCHANGED } from './edit-flow.js';
import { type Change, type Edited, runStart } from './splice.js';

const AGENT = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** Sets or, with null, removes the `@agent` at the end of step `n`'s heading. */
export function setAgent(text: string, n: number, agent: string | null): Edited {
  return editStep(text, n, ({ heading, section }, { text: plain }) => {
    if (agent !== null && !AGENT.test(agent)) return `\`${agent}\` is not a valid agent name.`;
    if (agent === (heading.agent?.name ?? null)) return UNCHANGED;
    const head = { start: start(section.heading), end: end(section.heading) };
    const change = heading.agent
      ? replaced(plain, heading.agent, { agent, title: heading.title, head })
      : inserted(plain, head, agent);
    return {
      changes: change ? [change] : [],
      expect: (content) => ({ ...content, agent }),
      otherwise: 'The heading would read otherwise with this agent: edit the file by hand.',
    };
  });
}

interface Span {
  readonly start: number;
  readonly end: number;
}

function replaced(
  text: string,
  { name, offset }: { readonly name: string; readonly offset: number },
  { agent, title, head }: { readonly agent: string | null; readonly title: string; readonly head: Span },
): Change {
  const stop = offset + 1 + name.length;
  // In a heading `## @writer` the agent is the title too, which must stay.
  const alone = text.slice(head.start, offset).replace(/[#\s]/g, '') === '';
  if (alone) return { start: offset, end: stop, text: agent === null ? title : `${title} @${agent}` };
  if (agent !== null) return { start: offset + 1, end: stop, text: agent };
  return { start: runStart(text, offset, ' \t'), end: stop, text: '' };
}

/** Inserts before the closing `#`s and blanks that a heading may end with. */
function inserted(text: string, head: Span, agent: string | null): Change | undefined {
  if (agent === null) return undefined;
  const heading = text.slice(head.start, head.end);
  const stop = runStart(heading, heading.length, ' \t');
  const signs = runStart(heading, stop, '#');
  const blanks = runStart(heading, signs, ' \t');
  const at = head.start + (signs < stop && blanks < signs ? blanks : stop);
  return { start: at, end: at, text: ` @${agent}` };
}
