import { didYouMean } from '../../shared/closest.js';
import type { Issue } from '../model.js';
import { readFrontmatter } from '../yaml/read-frontmatter.js';
import type { YamlEntry, YamlNode } from '../yaml/read-yaml.js';
import { SKILL_KEYS } from './keys/skill-keys.js';
import { type Fault, type Findings, report, type Source } from './source.js';

const LINE = /^([A-Za-z][\w-]*):(?:[ \t]+|$)([^\r\n]*)$/;

/** A YAML block scalar: the following lines are the value. */
const BLOCK = /^[|>][+-]?$/;

export interface ReadSkill {
  readonly kind: 'skill';
  readonly name: string;
  readonly description: string;
}

/** Limits of the Agent Skills format, in characters, and in lines for the whole file, which the model reads at once. */
const MAX_NAME = 64;

const MAX_DESCRIPTION = 1_024;

const MAX_COMPATIBILITY = 500;

const MAX_LINES = 500;

/**
 * Reads SKILL.md by the lenient rules of the Agent Skills format. A fault that may bother another client is a warning,
 * and the skill is loaded anyway. Only a skill without a description is not loaded.
 */
export function readSkill(source: Source, folder: string, issues: Issue[]): ReadSkill {
  const findings: Findings = { source, issues };
  const entries = readSkillEntries(findings);
  if (entries === null) return { kind: 'skill', name: folder, description: '' };
  checkKeys(findings, entries);
  checkName(findings, entries.get('name'), folder);
  checkTexts(findings, entries);
  const description = textOf(entries.get('description'));
  if (description === '') {
    const message = 'A skill needs a `description`: it decides whether the skill is used.';
    report(findings, entries.get('description')?.node.offset ?? 0, { code: 'skill/bad-value', message });
  }
  if (source.lineStarts.length > MAX_LINES) {
    warn(findings, 0, {
      code: 'skill/bad-value',
      message: `The skill has ${source.lineStarts.length} lines, and all of them are read when it is loaded.`,
      hint: `Keep SKILL.md under ${MAX_LINES} lines, and what is seldom needed in files beside it.`,
    });
  }
  return { kind: 'skill', name: folder, description };
}

function checkKeys(findings: Findings, entries: ReadonlyMap<string, YamlEntry>): void {
  for (const { key, offset } of entries.values()) {
    if (Object.hasOwn(SKILL_KEYS, key)) continue;
    warn(findings, offset, {
      code: 'skill/unknown-key',
      message: `The open format of skills has no key \`${key}\`; it is not read.`,
      hint: () => didYouMean(key, Object.keys(SKILL_KEYS)) ?? 'Put your own notes under `metadata:`.',
    });
  }
}

/** The folder's name is the skill's name, whatever the file says. */
function checkName(findings: Findings, entry: YamlEntry | undefined, folder: string): void {
  const code = 'skill/bad-name';
  const name = textOf(entry);
  if (name === '') {
    const message = 'The skill has no `name`, which other clients of the format ask for.';
    warn(findings, entry?.node.offset ?? 0, { code, message, hint: `Add \`name: ${folder}\`.` });
    return;
  }
  const offset = entry?.node.offset ?? 0;
  if ([...name].length > MAX_NAME)
    warn(findings, offset, { code, message: `The name is longer than ${MAX_NAME} characters.` });
  if (name !== folder) {
    const message = `The skill says that it is \`${name}\`, and its folder is \`${folder}\`; the folder's name counts.`;
    warn(findings, offset, { code, message, hint: 'Make them the same: other clients ask for it.' });
  }
}

function checkTexts(findings: Findings, entries: ReadonlyMap<string, YamlEntry>): void {
  const limits = { description: MAX_DESCRIPTION, compatibility: MAX_COMPATIBILITY };
  for (const [key, limit] of Object.entries(limits)) {
    const entry = entries.get(key);
    if (!entry || [...textOf(entry)].length <= limit) continue;
    const message = `\`${key}\` is longer than ${limit} characters, which other clients refuse.`;
    warn(findings, entry.node.offset, { code: 'skill/bad-value', message, hint: 'Say the rest in the body.' });
  }
}

/** Everything is text here, although YAML would read `name: 2024` as a number. */
function textOf(entry: YamlEntry | undefined): string {
  const value = entry?.node.value;
  if (typeof value === 'string') return value.trim();
  return ['number', 'bigint', 'boolean'].includes(typeof value) ? String(value) : '';
}

function warn(findings: Findings, offset: number, fault: Omit<Fault, 'severity'>): void {
  report(findings, offset, { ...fault, severity: 'warning' });
}

/** The keys of a SKILL.md; null when its frontmatter is not closed and has no known end. */
function readSkillEntries(findings: Findings): ReadonlyMap<string, YamlEntry> | null {
  const { text } = findings.source;
  const frontmatter = readFrontmatter(text);
  if (frontmatter.kind === 'unclosed') {
    const message = 'The frontmatter that the first line opens is not closed.';
    report(findings, 0, { code: 'yaml/unclosed', message, hint: 'End it with a line of `---`.' });
    return null;
  }
  if (frontmatter.kind === 'none') return new Map();
  if (frontmatter.node?.entries) return frontmatter.node.entries;
  const lines = byLines(text.slice(0, frontmatter.bodyStart));
  if (lines.size > 0) {
    report(findings, [...lines.values()][0]?.offset ?? 0, {
      code: 'skill/bad-value',
      severity: 'warning',
      message: 'The frontmatter is not valid YAML, so it was read line by line; other clients may not read it at all.',
      hint: 'Put a value that holds a colon, or begins with a sign, in quotes.',
    });
  }
  return lines;
}

/** Reads frontmatter that is not valid YAML: `key: rest of the line`, and the indented lines after it. */
function byLines(frontmatter: string): ReadonlyMap<string, YamlEntry> {
  const found = new Map<string, { readonly offset: number; at: number; readonly parts: string[] }>();
  let open: string[] | undefined;
  let offset = 0;
  for (const line of frontmatter.split(/(?<=\r\n|\n|\r(?!\n))/)) {
    const bare = line.replace(/[\r\n]+$/, '');
    const [, key, value = ''] = LINE.exec(bare) ?? [];
    if (key !== undefined) {
      open = BLOCK.test(value.trim()) ? [] : [value.trim()];
      const at = offset + (value === '' ? 0 : bare.length - value.length);
      if (!found.has(key)) found.set(key, { offset, at, parts: open });
    } else if (/^[ \t]+\S/.test(bare)) open?.push(bare.trim());
    offset += line.length;
  }
  return new Map([...found].map(([key, entry]) => [key, toEntry(key, entry)]));
}

function toEntry(key: string, { offset, at, parts }: { offset: number; at: number; parts: string[] }): YamlEntry {
  const text = parts.join(' ').trim();
  const node: YamlNode = { value: text.replace(/^(["'])(.*)\1$/, '$2'), offset: at };
  return { key, offset, node };
}
