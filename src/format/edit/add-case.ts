import { toJson } from '../../shared/exact-json.js';
import { canonicalJson, type Json } from '../../shared/json.js';
import { readAssertion } from '../assertions/read-assertion.js';
import type { ReadCase, ReadEval } from '../parse/eval-model.js';
import { openFile } from '../parse/open-file.js';
import { readEval } from '../parse/read-eval.js';
import { openSource } from '../parse/source.js';
import { behindMark, type Edited, gapBehind, lineEndOf, refuse, withLineEnds } from './splice.js';

/** A case of an eval to write. */
export interface NewCase {
  /** `flows/<name>` or `agents/<name>`. */
  readonly target: string;
  readonly title: string;
  readonly input: Json;
  readonly decisions: readonly NewDecision[];
  /** In the order of the answers. */
  readonly canned: readonly { readonly tool: string; readonly answer: Json }[];
  /** Assertion lines; none is the default judge. */
  readonly expect: readonly string[];
}

export interface NewDecision {
  readonly step: string;
  readonly decision: 'approve' | 'reject' | 'event';
  readonly note?: string;
  readonly event?: Json;
}

export type AddedCase =
  | {
      readonly ok: true;
      readonly text: string;
      /** With a number appended if the wanted title was taken. */
      readonly title: string;
    }
  | { readonly ok: false; readonly reason: string /** The target differs. */; readonly conflict?: true };

/**
 * Appends a case to an eval's file, or creates the file. The existing text stays byte for byte. Reads the result back,
 * and refuses unless every old case reads as before and the new one as requested.
 */
export function addCase(text: string | null, wanted: NewCase): AddedCase {
  for (const [index, line] of wanted.expect.entries()) {
    const read = /[\r\n]/.test(line) ? ({ ok: false, message: 'it takes one line' } as const) : readAssertion(line);
    if (!read.ok) return refuse(`expect[${index}] cannot be read: ${read.message}`);
  }
  const before = text === null ? begun(wanted.target) : text;
  const old = readBack(before);
  if (old === null) return refuse('the file cannot be read: fix it first');
  const target = old.keys.values.target?.name;
  if (target !== wanted.target)
    return {
      ok: false,
      conflict: true,
      reason: `it is about ${target ?? 'nothing'}, and the run is one of ${wanted.target}`,
    };
  const title = freeTitle(wanted.title, old);
  // If the input does not read back unchanged as text, write it as JSON.
  for (const asText of [true, false]) {
    const edited = append(before, printCase({ ...wanted, title }, asText));
    if (edited.ok && readsAs(edited.text, old, { ...wanted, title })) return { ok: true, text: edited.text, title };
  }
  return refuse('the case would not read back as it was given: keep marks and comments out of caseName and expect');
}

function begun(target: string): string {
  return `---\ndescription: Cases saved from runs of ${target}.\ntarget: ${target}\ntrigger: manual\n---\n`;
}

function append(text: string, printed: string): Edited {
  return behindMark(text, (plain) => {
    const lineEnd = lineEndOf(plain);
    return { ok: true, text: plain + gapBehind(plain, lineEnd) + withLineEnds(printed, lineEnd) };
  });
}

function readBack(text: string): ReadEval | null {
  const file = openFile(openSource('', text));
  return file && readEval(file, 'eval');
}

function freeTitle(wish: string, { cases }: ReadEval): string {
  const taken = new Set(cases.map(({ title }) => title.toLowerCase()));
  for (let n = 1; ; n += 1) {
    const title = n === 1 ? wish : `${wish} (${n})`;
    if (!taken.has(title.toLowerCase())) return title;
  }
}

/** Compares the cases only. A deploy reports faults that the file already had. */
function readsAs(text: string, old: ReadEval, wanted: NewCase): boolean {
  const now = readBack(text);
  const expected = [...old.cases.map(contentOfRead), contentOfCase(wanted)];
  return now !== null && canonicalJson(now.cases.map(contentOfRead)) === canonicalJson(expected);
}

function contentOfRead({ title, options, input, decisions, canned, expect }: ReadCase): Json {
  return {
    title,
    options: options.values as unknown as Json,
    input,
    decisions: decisions.map(({ offset: _, ...decision }) => decision) as unknown as Json,
    canned: canned.map(({ tool, answer }) => ({ tool, answer })),
    expect: expect.map(({ assertion }) => assertion) as unknown as Json,
  };
}

function contentOfCase({ title, input, decisions, canned, expect }: NewCase): Json {
  const assertions = expect.flatMap((line) => {
    const read = readAssertion(line.replace(/\s+/g, ' '));
    return read.ok ? [read.assertion] : [];
  });
  return {
    title,
    options: {},
    input,
    decisions: decisions.map(({ step, decision, note, event }) => ({
      step,
      decision,
      ...(note ? { note } : {}),
      ...(decision === 'event' ? { event: event ?? null } : {}),
    })),
    canned: canned.map(({ tool, answer }) => ({ tool, answer })),
    expect: assertions as unknown as Json,
  };
}

/** A case as text for an eval's file. `asText` writes a string input as text, otherwise as JSON. */
function printCase({ title, input, decisions, canned, expect }: NewCase, asText: boolean): string {
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

/** Uses a fence longer than any run of backticks inside. */
function fenced(info: string, body: string): string {
  const longest = Math.max(2, ...[...body.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${info}\n${body}\n${fence}`;
}

function printDecision({ step, decision, note, event }: NewDecision): string {
  if (decision === 'event') return `- ${step}: event ${onOneLine(event ?? null)}`;
  return `- ${step}: ${decision}${note ? `, ${onOneLine(note)}` : ''}`;
}

/** JSON for a bullet, where white space is folded and comments are removed: escapes both. */
function onOneLine(value: Json): string {
  return toJson(value).replace(/[\s<]/g, (sign, at: number, all: string) => {
    if (sign === ' ' && !/\s/.test(all[at - 1] ?? '') && !/\s/.test(all[at + 1] ?? '')) return sign;
    return `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
