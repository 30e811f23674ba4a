import type { Issue } from '../model.js';
import { readFrontmatter } from '../yaml/read-frontmatter.js';
import type { YamlNode } from '../yaml/read-yaml.js';
import { type Findings, report, type Source } from './source.js';

/** A file whose frontmatter is read; null when it is not closed, since the body cannot be separated from it then. */
export interface OpenFile extends Findings {
  readonly node: YamlNode | null;
  readonly bodyStart: number;
  /** True when the frontmatter exists and has no syntax fault. */
  readonly sound: boolean;
}

export function openFile(source: Source, issues: Issue[] = []): OpenFile | null {
  const findings: Findings = { source, issues };
  const frontmatter = readFrontmatter(source.text);
  if (frontmatter.kind === 'unclosed') {
    const message = 'The frontmatter that the first line opens is not closed.';
    report(findings, 0, { code: 'yaml/unclosed', message, hint: 'End it with a line of `---`.' });
    return null;
  }
  if (frontmatter.kind === 'none') return { ...findings, node: null, bodyStart: 0, sound: true };
  for (const { offset, ...fault } of frontmatter.faults) report(findings, offset, fault);
  const { node, bodyStart, faults } = frontmatter;
  return { ...findings, node, bodyStart, sound: faults.every(({ code }) => code === 'yaml/duplicate-key') };
}
