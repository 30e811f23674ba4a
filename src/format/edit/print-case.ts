import { toJson } from '../../shared/exact-json.js';
import type { Json } from '../../shared/json.js';
import type { NewCase, NewDecision } from './add-case.js';

/** A case as text for an eval's file. `asText` writes a string input as text, otherwise as JSON. */
export function printCase({ title, input, decisions, canned, expect }: NewCase, asText: boolean): string {
  const isText = asText && typeof input === 'string' && input !== '';
  const parts = [
    `## ${title}`,
    '### Input',
    isText ? fenced('text', input) : fenced('json', toJson(input, 2)),
    ...part('### Decisions', decisions.map(printDecision).join('\n')),
    ...part('### Tools', canned.map(({ tool, answer }) => fenced(`json ${tool}`, toJson(answer, 2))).join('\n\n')),
    ...part('### Expect', expect.map((line) => `- ${line.trim()}`).join('\n')),
  ];
  return `${parts.join('\n\n')}\n`;
}

function part(heading: string, body: string): string[] {
  return body === '' ? [] : [heading, body];
}

/** Behind a fence that is longer than any run of backticks inside. */
function fenced(info: string, body: string): string {
  const longest = Math.max(2, ...[...body.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${info}\n${body}\n${fence}`;
}

function printDecision({ step, decision, note, event }: NewDecision): string {
  if (decision === 'event') return `- ${step}: event ${onOneLine(event ?? null)}`;
  return `- ${step}: ${decision}${note ? `, ${onOneLine(note)}` : ''}`;
}

/** JSON that survives in a bullet: blanks are folded there, and comments taken out. */
function onOneLine(value: Json): string {
  return toJson(value).replace(/[\s<]/g, (sign, at: number, all: string) => {
    if (sign === ' ' && !/\s/.test(all[at - 1] ?? '') && !/\s/.test(all[at + 1] ?? '')) return sign;
    return `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
