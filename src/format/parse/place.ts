export type FileKind = 'agent' | 'flow' | 'eval' | 'tool' | 'skill' | 'knowledge' | 'memory' | 'workspace' | 'other';

/** What the path of a file shows: its kind, its name, and the agent that owns it. */
export interface Place {
  readonly kind: FileKind | 'servers';
  readonly name: string;
  /** The agent's name, when the file is in an agent's folder. */
  readonly owner?: string;
}

type Rule = readonly [RegExp, Place['kind']];

/** Some clients of the Agent Skills format write `skill.md`. */
const SKILL_FILE = '[Ss][Kk][Ii][Ll][Ll]\\.md';

/** Kinds that may occur at the root, in an agent's folder and in the account's library. */
const SHARED: readonly Rule[] = [
  [/^tools\/([^/]+)\.md$/, 'tool'],
  [/^tools\/([^/]+)\/tool\.md$/, 'tool'],
  [new RegExp(`^skills/([^/]+)/${SKILL_FILE}$`), 'skill'],
  [/^knowledge\/(.+)\.md$/, 'knowledge'],
  [/^memory\/(.+)\.md$/, 'memory'],
];

const RULES: readonly Rule[] = [
  [/^(AGENTS)\.md$/, 'workspace'],
  [/^agents\/([^/]+)\.md$/, 'agent'],
  [/^agents\/([^/]+)\/agent\.md$/, 'agent'],
  [/^flows\/([^/]+)\.md$/, 'flow'],
  [/^evals\/([^/]+)\.md$/, 'eval'],
  [new RegExp(`^\\.agents/skills/([^/]+)/${SKILL_FILE}$`), 'skill'],
  [/^(\.mcp)\.json$/, 'servers'],
  ...SHARED,
];

const LIBRARY_RULES: readonly Rule[] = [[/^(AGENTS)\.md$/, 'workspace'], ...SHARED];

/** Determines the kind of a file by its path in a tree. */
export function placeOf(path: string): Place {
  const found = match(RULES, path);
  if (found) return found;
  const [, owner = '', rest = ''] = /^agents\/([^/]+)\/(.+)$/.exec(path) ?? [];
  const own = match(SHARED, rest);
  return own ? { ...own, owner } : { kind: 'other', name: path };
}

/** The same for a file of the account's library, which has fewer kinds. */
export function libraryPlaceOf(path: string): Place {
  return match(LIBRARY_RULES, path) ?? { kind: 'other', name: path };
}

function match(rules: readonly Rule[], path: string): Place | undefined {
  for (const [pattern, kind] of rules) {
    const name = pattern.exec(path)?.[1];
    if (name !== undefined) return { kind, name };
  }
  return undefined;
}

export function kindOfPath(path: string): FileKind {
  const { kind } = placeOf(path);
  return kind === 'servers' ? 'other' : kind;
}

const PROTECTED = /^(?:runs|state|storage|files|outputs)(?:\/|$)|^secrets\.json$/;

/** True for the service's own paths: no deploy and no source write may contain them. */
export function isProtectedPath(path: string): boolean {
  return PROTECTED.test(path);
}
