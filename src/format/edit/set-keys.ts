import { isMap, isScalar, type Pair, parseDocument } from 'yaml';
import { canonicalJson, isRecord, type Json } from '../../shared/json.js';
import { readFrontmatter } from '../yaml/read-frontmatter.js';
import { isSame } from './keep-spelling.js';
import { printYaml } from './print-yaml.js';
import { behindMark, type Change, type Edited, lineEndOf, lineStart, nextLine, refuse, splice } from './splice.js';

type Keys = Readonly<Record<string, Json>>;

/**
 * Sets keys of a file's frontmatter in place; null removes one. A key that already has the value stays as written.
 * Comments, the order of keys and the spelling of all others stay byte for byte. New keys go to the end; a file without
 * frontmatter gets one.
 */
export function setKeys(text: string, keys: Keys): Edited {
  return behindMark(text, (plain) => checked(plain, keys, edit(plain, keys)));
}

function edit(text: string, keys: Keys): Edited {
  const frontmatter = readFrontmatter(text);
  if (frontmatter.kind === 'unclosed') return refuse('The frontmatter is not closed: end it with a line of `---`.');
  if (frontmatter.kind === 'none') return { ok: true, text: withFrontmatter(text, keys) };
  const [fault] = frontmatter.faults;
  if (fault) return refuse(`The frontmatter is not readable: ${fault.message}`);
  const start = nextLine(text, 0);
  const end = Math.max(start, lineStart(text, frontmatter.bodyStart));
  const yaml = text.slice(start, end);
  const { contents } = parseDocument(yaml, { version: '1.2', schema: 'core' });
  if (contents !== null && (!isMap(contents) || contents.flow)) {
    return refuse('The frontmatter is not written as `key: value` lines: edit it by hand.');
  }
  const pairs = (contents?.items ?? []) as Pair[];
  const block: Block = { yaml, pairs, lineEnd: lineEndOf(text) };
  const now = valuesOf(text);
  const changes = Object.entries(keys).flatMap(([key, value]) =>
    value !== null && isSame(now?.[key], value) ? [] : changeOf(block, key, value),
  );
  return { ok: true, text: text.slice(0, start) + splice(yaml, changes) + text.slice(end) };
}

interface Block {
  readonly yaml: string;
  readonly pairs: readonly Pair[];
  readonly lineEnd: string;
}

interface Ranged {
  readonly range?: readonly [number, number, number] | null;
}

function rangeOf(node: unknown): readonly [number, number, number] | undefined {
  return (node as Ranged | null)?.range ?? undefined;
}

function changeOf({ yaml, pairs, lineEnd }: Block, key: string, value: Json): Change[] {
  const pair = pairs.find((candidate) => isScalar(candidate.key) && String(candidate.key.value) === key);
  const keyEnd = rangeOf(pair?.key)?.[1];
  if (!pair || keyEnd === undefined) return value === null ? [] : [appended({ yaml, pairs, lineEnd }, key, value)];
  const colon = yaml.indexOf(':', keyEnd) + 1;
  const [from, to] = rangeOf(pair.value) ?? [colon, colon];
  // The position of an empty value is after the comment of its line.
  const start = from === to ? colon : from;
  const end = Math.max(colon, start + yaml.slice(start, to).trimEnd().length);
  if (value === null) return [{ start: lineStart(yaml, keyEnd), end: nextLine(yaml, end), text: '' }];
  // A value on the lines below its key moves next to the key; one on the key's own line keeps the blanks before it.
  const own = end > colon && !/[\r\n#]/.test(yaml.slice(colon, start)) && start > colon;
  return [{ start: own ? start : colon, end, text: own ? printYaml(value) : ` ${printYaml(value)}` }];
}

function appended({ yaml, pairs, lineEnd }: Block, key: string, value: Json): Change {
  const first = rangeOf(pairs[0]?.key)?.[0] ?? 0;
  const indent = yaml.slice(lineStart(yaml, first), first);
  const before = yaml === '' || /[\r\n]$/.test(yaml) ? '' : lineEnd;
  return { start: yaml.length, end: yaml.length, text: `${before}${indent}${line(key, value)}${lineEnd}` };
}

function withFrontmatter(text: string, keys: Keys): string {
  const lineEnd = lineEndOf(text);
  const lines = Object.entries(keys).flatMap(([key, value]) => (value === null ? [] : [line(key, value)]));
  if (lines.length === 0) return text;
  const gap = text === '' || /^[\r\n]/.test(text) ? '' : lineEnd;
  return ['---', ...lines, '---', ''].join(lineEnd) + gap + text;
}

function line(key: string, value: Json): string {
  return `${printYaml(key)}: ${printYaml(value)}`;
}

/** Reads the result back: it must have the requested values, and nothing else may have changed. */
function checked(before: string, keys: Keys, edited: Edited): Edited {
  if (!edited.ok) return edited;
  const expected: Record<string, Json> = { ...valuesOf(before) };
  for (const [key, value] of Object.entries(keys)) {
    if (value === null) delete expected[key];
    else expected[key] = value;
  }
  const found = valuesOf(edited.text);
  if (found && canonicalJson(found) === canonicalJson(expected) && bodyOf(edited.text) === bodyOf(before))
    return edited;
  const after = readFrontmatter(edited.text);
  const [fault] = after.kind === 'closed' ? after.faults : [];
  if (fault) return refuse(`This value is not possible in frontmatter: ${fault.message}`);
  return refuse('This key cannot be changed in place: edit the file by hand.');
}

/** The frontmatter's values; undefined when it cannot be read. */
export function valuesOf(text: string): Readonly<Record<string, Json>> | undefined {
  const frontmatter = readFrontmatter(text);
  if (frontmatter.kind === 'none') return {};
  if (frontmatter.kind === 'unclosed' || frontmatter.faults.length > 0) return undefined;
  const value = frontmatter.node?.value ?? {};
  return isRecord(value) ? (value as Readonly<Record<string, Json>>) : undefined;
}

/** The text after the frontmatter and the blank lines after it. */
function bodyOf(text: string): string {
  const frontmatter = readFrontmatter(text);
  return text.slice(frontmatter.kind === 'closed' ? frontmatter.bodyStart : 0).replace(/^[\r\n]+/, '');
}
