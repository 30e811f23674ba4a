import type { Finding } from './examine.js';

const SHOWN = 20;

/** The findings as text: one paragraph per check, with its remedy at the end. */
export function reportOf(findings: readonly Finding[]): string {
  if (findings.length === 0) return 'Nothing is wrong: rows, workflows, sandboxes, revisions and files agree.\n';
  const checks = [...new Set(findings.map(({ check }) => check))];
  const parts = checks.map((check) => {
    const own = findings.filter((finding) => finding.check === check);
    const more = own.length > SHOWN ? [`… and ${own.length - SHOWN} more (--json lists all)`] : [];
    const lines = [...own.slice(0, SHOWN).map(({ says }) => `  ${says}`), ...more.map((line) => `  ${line}`)];
    return `${check}\n${lines.join('\n')}\n  → ${own[0]?.remedy ?? ''}\n`;
  });
  return `${parts.join('\n')}\n${findings.length} ${findings.length === 1 ? 'finding' : 'findings'}.\n`;
}
