/** What a file of the tree is, by its path: format.md, section 2. */
export type SourceKind =
  | 'workspace'
  | 'agent'
  | 'flow'
  | 'eval'
  | 'tool'
  | 'skill'
  | 'knowledge'
  | 'memory'
  | 'mcp'
  | 'script'
  | 'file';

const KINDS: readonly (readonly [SourceKind, RegExp])[] = [
  ['workspace', /^AGENTS\.md$/],
  ['mcp', /^\.mcp\.json$/],
  ['flow', /^flows\/[^/]+\.md$/],
  ['eval', /^evals\/[^/]+\.md$/],
  ['agent', /^agents\/([^/]+\.md|[^/]+\/agent\.md)$/],
  ['script', /^agents\/[^/]+\/script\.yaml$/],
  ['tool', /^(agents\/[^/]+\/)?tools\/([^/]+\.md|[^/]+\/tool\.md)$/],
  ['skill', /^((agents\/[^/]+|\.agents)\/)?skills\/[^/]+\/SKILL\.md$/],
  ['knowledge', /^(agents\/[^/]+\/)?knowledge\/.+\.md$/],
  ['memory', /^(agents\/[^/]+\/)?memory\/.+\.md$/],
];

/** `file` is whatever goes along with the others: a tool's program, a picture, a file nobody reads. */
export function sourceKind(path: string): SourceKind {
  return KINDS.find(([, pattern]) => pattern.test(path))?.[0] ?? 'file';
}
