import { didYouMean } from '../did-you-mean.js';
import type { Issue } from '../model.js';
import { readFrontmatter, type YamlEntry, type YamlNode } from '../yaml/index.js';
import { SKILL_KEYS } from './keys/skill-keys.js';
import { type Findings, report, type Source } from './source.js';

export interface ReadSkill {
  readonly kind: 'skill';
  readonly name: string;
  readonly description: string;
}

/**
 * Reads SKILL.md by the lenient rules of the open format: unknown keys pass, a name that is not the folder's is a
 * warning, and a value with an unquoted colon is taken as it stands. Only a missing description keeps it out.
 */
export function readSkill(source: Source, folder: string, issues: Issue[]): ReadSkill {
  const findings: Findings = { source, issues };
  const entries = entriesOf(findings);
  for (const { key, offset } of entries.values()) {
    const hint = Object.hasOwn(SKILL_KEYS, key) ? undefined : didYouMean(key, Object.keys(SKILL_KEYS));
    if (hint)
      report(findings, offset, {
        code: 'skill/unknown-key',
        severity: 'warning',
        message: `There is no key \`${key}\` here.`,
        hint,
      });
  }
  const name = entries.get('name');
  if (name && name.node.value !== folder) {
    const message = `The skill says that it is \`${String(name.node.value)}\`, and its folder is \`${folder}\`; the folder's name counts.`;
    report(findings, name.node.offset, { code: 'skill/bad-name', severity: 'warning', message });
  }
  const description = entries.get('description');
  const text = typeof description?.node.value === 'string' ? description.node.value.trim() : '';
  if (text === '') {
    const message = 'A skill needs a `description`: it decides whether the skill is used.';
    report(findings, description?.node.offset ?? 0, { code: 'skill/bad-value', message });
  }
  return { kind: 'skill', name: folder, description: text };
}

function entriesOf(findings: Findings): ReadonlyMap<string, YamlEntry> {
  const { text } = findings.source;
  const frontmatter = readFrontmatter(text);
  if (frontmatter.kind === 'unclosed') {
    const message = 'The frontmatter that the first line opens is not closed.';
    report(findings, 0, { code: 'yaml/unclosed', message, hint: 'End it with a line of `---`.' });
    return new Map();
  }
  if (frontmatter.kind === 'none') return new Map();
  return frontmatter.node?.entries ?? byLines(text.slice(0, frontmatter.bodyStart));
}

/** `key: rest of the line`, for frontmatter that is no YAML. */
function byLines(frontmatter: string): ReadonlyMap<string, YamlEntry> {
  const entries = new Map<string, YamlEntry>();
  for (const match of frontmatter.matchAll(/(?<=^|[\r\n])([A-Za-z][\w-]*):[ \t]+([^\r\n]+)/g)) {
    const [line, key = '', value = ''] = match;
    const node: YamlNode = {
      value: value.trim().replace(/^(["'])(.*)\1$/, '$2'),
      offset: match.index + line.length - value.length,
    };
    if (!entries.has(key)) entries.set(key, { key, offset: match.index, node });
  }
  return entries;
}
