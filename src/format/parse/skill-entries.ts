import { readFrontmatter } from '../yaml/read-frontmatter.js';
import type { YamlEntry, YamlNode } from '../yaml/read-yaml.js';
import { type Findings, report } from './source.js';

/** The keys of a SKILL.md; null when its frontmatter is not closed, so that its end is unknown. */
export function readSkillEntries(findings: Findings): ReadonlyMap<string, YamlEntry> | null {
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

const LINE = /^([A-Za-z][\w-]*):(?:[ \t]+|$)([^\r\n]*)$/;
/** What YAML calls a block: the lines that follow are the value. */
const BLOCK = /^[|>][+-]?$/;

/** `key: rest of the line`, and the indented lines after it, for frontmatter that is not valid YAML. */
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
