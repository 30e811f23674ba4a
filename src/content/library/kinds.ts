import { isName } from '../../shared/ids.js';
import { Refusal } from '../../shared/refusal.js';
import { requirePath } from '../deploys/require-path.js';

/** The folders of a library. */
export const LIBRARY_KINDS = ['tools', 'skills', 'knowledge', 'memory', 'scripts'] as const;
export type LibraryKind = (typeof LIBRARY_KINDS)[number];

/** The path in the library, as lists have it; `crm.md` of kind `tools` is `tools/crm.md`. Refuses one that is not canonical. */
export function pathIn(kind: LibraryKind, given: string): string {
  const path = given.startsWith(`${kind}/`) ? given : `${kind}/${given}`;
  requirePath(path);
  return path;
}

/** Where a new document of this name is. */
const FILE_OF = {
  tools: (name) => `tools/${name}.md`,
  skills: (name) => `skills/${name}/SKILL.md`,
  knowledge: (name) => `knowledge/${name}.md`,
  memory: (name) => `memory/${name}.md`,
  scripts: (name) => `scripts/${name}`,
} as const satisfies Record<LibraryKind, (name: string) => string>;

/** Refuses a name that the format does not allow. A script's name includes its extension. */
export function fileOf(kind: LibraryKind, name: string): string {
  const [stem = '', ...ending] = kind === 'scripts' ? name.split('.') : [name];
  if (!isName(stem) || ending.some((part) => !/^[a-z0-9]{1,16}$/.test(part))) {
    throw new Refusal(
      'refused',
      'name: use lower-case words and digits joined by single hyphens, 64 characters at most; or give a path',
      { code: 'library/bad-name' },
    );
  }
  return FILE_OF[kind](name);
}

/** The paths whose files take precedence over this one, in the workspace or below `agents/<agent>/`. */
export function nearerPaths(path: string): readonly string[] {
  const [, tool] = /^tools\/([^/]+?)(?:\.md|\/tool\.md)$/.exec(path) ?? [];
  if (tool !== undefined) return [`tools/${tool}.md`, `tools/${tool}/tool.md`];
  if (/^skills\/[^/]+\/SKILL\.md$/.test(path)) return [path, `.agents/${path}`];
  return /^(?:knowledge|memory)\//.test(path) ? [path] : [];
}
