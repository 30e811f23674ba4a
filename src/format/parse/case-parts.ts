import type { Code, List } from 'mdast';
import { parseJson } from '../../shared/exact-json.js';
import type { Json } from '../../shared/json.js';
import { readAssertion } from '../assertions/read-assertion.js';
import type { ReadCanned, ReadDecision, ReadExpectation } from './eval-model.js';
import { type Block, end, start } from './markdown.js';
import type { OpenFile } from './open-file.js';
import { isComment } from './options.js';
import type { Section } from './sections.js';
import { report, unixLines } from './source.js';
import { withoutComments } from './without-comments.js';

interface Bullet {
  readonly text: string;
  readonly offset: number;
}

/** The bullets of a part, each folded to one line. Other text would be ignored, so it is refused. */
function bulletsOf(file: OpenFile, { blocks }: Section): Bullet[] {
  return blocks.flatMap((block) => {
    if (isComment(block)) return [];
    if (block.type === 'list')
      return (block as Block & List).children.map((item) => bulletOf(file, item as Block & object));
    const message = 'Only bullets count in this part.';
    report(file, start(block), { code: 'eval/bad-value', message, hint: 'Begin the line with `- `.' });
    return [];
  });
}

function bulletOf({ source }: OpenFile, item: object): Bullet {
  const from = start(item as Block);
  const raw = source.text.slice(from, end(item as Block));
  const marker = /^(?:[-+*]|\d+[.)])[ \t]*/.exec(raw)?.[0].length ?? 0;
  return { text: withoutComments(raw.slice(marker)).replace(/\s+/g, ' ').trim(), offset: from + marker };
}

const DECISION = /^([a-z_][a-z0-9_]*(?:\/[a-z_][a-z0-9_]*)*): *(?:(approve|reject)(?: *, *(.*))?|event(?: +(.*))?)$/;

export function readDecisions(file: OpenFile, section: Section): ReadDecision[] {
  return bulletsOf(file, section).flatMap(({ text, offset }): ReadDecision[] => {
    const [, step, decision, note, event] = DECISION.exec(text) ?? [];
    const fail = (message: string) => {
      const hint = 'Write `- step_id: approve, "note"`, `- step_id: reject` or `- step_id: event {"key": "value"}`.';
      report(file, offset, { code: 'eval/bad-value', message, hint });
      return [];
    };
    if (step === undefined) return fail('This is not a decision.');
    if (decision === undefined) {
      const read = readJson(event ?? 'null');
      return read.ok
        ? [{ step, offset, decision: 'event' as const, event: read.value }]
        : fail('The event is not valid JSON.');
    }
    const unquoted = note ? readJson(note) : undefined;
    const noteText = unquoted?.ok && typeof unquoted.value === 'string' ? unquoted.value : note;
    return [{ step, offset, decision: decision as 'approve' | 'reject', ...(noteText ? { note: noteText } : {}) }];
  });
}

const TOOL = /^[A-Za-z0-9][\w-]*(?:\.[\w.-]+)?$/;

export function readCanned(file: OpenFile, { blocks }: Section): ReadCanned[] {
  return blocks.flatMap((block) => {
    if (isComment(block)) return [];
    const offset = start(block);
    const { lang, meta, value } = block as Block & Code;
    const tool = (meta ?? '').trim();
    if (block.type !== 'code' || lang !== 'json' || !TOOL.test(tool)) {
      const message = 'This part holds code blocks with the info string `json <tool>` or `json <tool>.<operation>`.';
      report(file, offset, { code: 'eval/bad-value', message });
      return [];
    }
    const read = readJson(value);
    if (read.ok) return [{ tool, offset, answer: read.value }];
    report(file, offset, {
      code: 'eval/bad-value',
      message: `The answer of \`${tool}\` is not valid JSON: ${read.message}.`,
    });
    return [];
  });
}

export function readExpectations(file: OpenFile, section: Section): ReadExpectation[] {
  return bulletsOf(file, section).flatMap(({ text, offset }) => {
    const read = readAssertion(text);
    if (!read.ok) {
      report(file, offset, { code: 'eval/bad-value', message: `This assertion cannot be read: ${read.message}.` });
      return [];
    }
    if (read.warning !== undefined) {
      const message = `${read.warning.charAt(0).toUpperCase()}${read.warning.slice(1)}`;
      report(file, offset, { code: 'case/assertion-typo', severity: 'warning', message });
    }
    return [{ offset, assertion: read.assertion }];
  });
}

/** The input of a case: a ```json block, a ```text block, or the text itself. Undefined when there is none. */
export function readInput(
  file: OpenFile,
  blocks: readonly Block[],
  span: { readonly start: number; readonly end: number },
): Json | undefined {
  const fenced = blocks.find((block) => block.type === 'code' && (block.lang === 'json' || block.lang === 'text'));
  if (fenced === undefined) {
    const text = withoutComments(unixLines(file.source.text.slice(span.start, span.end))).trim();
    return text === '' ? undefined : text;
  }
  const { lang, value } = fenced as Block & Code;
  if (lang === 'text') return unixLines(value);
  const read = readJson(value);
  if (read.ok) return read.value;
  report(file, start(fenced), { code: 'eval/bad-value', message: `The input is not valid JSON: ${read.message}.` });
  return null;
}

function readJson(text: string): { ok: true; value: Json } | { ok: false; message: string } {
  try {
    return { ok: true, value: parseJson(text) };
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : String(error) };
  }
}
