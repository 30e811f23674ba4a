import type { Issue, SourceFile } from '../model.js';
import { checkPath, foldPath } from '../parse/check-path.js';
import { isProtectedPath, type Place, placeOf } from '../parse/place.js';

const MAX_FILE_BYTES = 256 * 1024;
/** Limit of an OpenAPI document beside a tool, or of a part of one. */
const MAX_DOCUMENT_BYTES = 1024 * 1024;
const DOCUMENT = /^(?:library\/|agents\/[^/]+\/)?tools\/.+\.(?:json|ya?ml)$/;
export const MAX_FILES = 2_000;
export const MAX_TREE_BYTES = 16 * 1024 * 1024;

type Fault = Pick<Issue, 'code' | 'message'> & Partial<Pick<Issue, 'severity' | 'hint'>>;

/** Checks the paths and sizes of a tree without reading files. `place` determines which files are read. */
export function checkPaths(files: readonly SourceFile[], place = placeOf): Issue[] {
  const issues: Issue[] = [];
  const add = (path: string, fault: Fault) => {
    issues.push({ path, line: 1, column: 1, severity: 'error', ...fault });
  };
  for (const file of files) for (const fault of faultsOf(file, place)) add(file.path, fault);
  for (const [path, fault] of twins(files)) add(path, fault);
  for (const [path, fault] of twoSpellings(files, place)) add(path, fault);
  for (const [path, fault] of unreadSkills(files, place)) add(path, fault);
  const bytes = files.reduce((sum, { content }) => sum + content.length, 0);
  const size = `The tree has ${files.length} files and ${bytes} bytes; the most is ${MAX_FILES} files and ${MAX_TREE_BYTES} bytes.`;
  if (files.length > MAX_FILES || bytes > MAX_TREE_BYTES) {
    add(files[0]?.path ?? '', { code: 'tree/too-large', message: size, hint: 'Keep produced files in storage/.' });
  }
  return issues;
}

function faultsOf({ path, content, link }: SourceFile, place: typeof placeOf): Fault[] {
  const checked = checkPath(path);
  if (!checked.ok) return [{ code: 'file/bad-path', message: checked.message }];
  if (checked.path !== path) return [{ code: 'file/bad-path', message: 'A path must be spelled in NFC.' }];
  if (link !== undefined) {
    return [{ code: 'file/symlink', message: `A ${link} is not supported.`, hint: 'Put the file itself here.' }];
  }
  if (isProtectedPath(path)) {
    const message = `\`${path.split('/')[0]}\` is the service's own; a deploy never carries it.`;
    return [{ code: 'tree/protected-path', message, hint: 'Leave it out of the tree.' }];
  }
  const most = DOCUMENT.test(path) ? MAX_DOCUMENT_BYTES : MAX_FILE_BYTES;
  if (content.length > most) {
    const message = `The file has ${content.length} bytes; the most is ${most}.`;
    return [{ code: 'file/too-large', message, hint: 'Keep large files in storage/.' }];
  }
  if (place(path).kind === 'other' && !isKnownOther(path)) {
    const hint = 'Agents are agents/<name>.md, flows flows/<name>.md; the templates show the rest.';
    return [
      { code: 'tree/unknown-path', severity: 'warning', message: 'This file is kept, but nothing reads it.', hint },
    ];
  }
  return [];
}

/** Known files that nothing here reads. */
function isKnownOther(path: string): boolean {
  const parts = path.split('/');
  if (parts.some((part) => part.startsWith('.')) || parts.at(-1) === 'README.md') return true;
  if (/^(?:agents\/[^/]+\/)?skills\/[^/]+\/./.test(path)) return true;
  return !path.endsWith('.md') && /^(?:tools|skills|knowledge)\/|^agents\/[^/]+\//.test(path);
}

function* twins(files: readonly SourceFile[]): Iterable<[string, Fault]> {
  const seen = new Map<string, string>();
  for (const { path } of files) {
    const fold = foldPath(path);
    const first = seen.get(fold);
    if (first === undefined) seen.set(fold, path);
    else {
      const message =
        first === path ? `\`${path}\` occurs twice in the tree.` : `This path and \`${first}\` differ in case only.`;
      yield [path, { code: 'tree/case-twin', message, hint: 'Rename one of them.' }];
    }
  }
}

function* twoSpellings(files: readonly SourceFile[], place: typeof placeOf): Iterable<[string, Fault]> {
  const seen = new Map<string, string>();
  for (const { path } of files) {
    const { kind, name, owner = '' }: Place = place(path);
    if (kind !== 'agent' && kind !== 'tool') continue;
    const id = `${kind} ${owner} ${name}`;
    const first = seen.get(id);
    if (first !== undefined && first !== path) {
      const message = `The ${kind} \`${name}\` is also \`${first}\`.`;
      yield [path, { code: 'tree/two-spellings', message, hint: 'Keep one of the two files.' }];
    } else seen.set(id, path);
  }
}

const SKILL_FOLDER = /^((?:agents\/[^/]+\/|\.agents\/)?skills\/)([^/]+)\/(.+)$/;

/** Folders that look like a skill and have no SKILL.md, so no agent gets them. */
function* unreadSkills(files: readonly SourceFile[], place: typeof placeOf): Iterable<[string, Fault]> {
  const folders = new Map<string, string[]>();
  for (const { path } of files) {
    const [, root = '', name = ''] = SKILL_FOLDER.exec(path) ?? [];
    if (name !== '') folders.set(root + name, [...(folders.get(root + name) ?? []), path]);
  }
  for (const [folder, paths] of folders) {
    if (paths.some((path) => place(path).kind === 'skill')) continue;
    const [nested] = paths.filter((path) => /\/skill\.md$/i.test(path));
    const at = nested ?? paths.find((path) => path.endsWith('.md')) ?? paths[0] ?? folder;
    const message = `\`${folder}/\` has no SKILL.md, so no agent has this skill.`;
    const name = nested?.split('/').at(-2);
    const root = folder.slice(0, folder.lastIndexOf('/'));
    const hint =
      name === undefined
        ? 'Call the file with its name, description and procedure SKILL.md.'
        : `A skill is a folder right under \`${root}/\`: move it to \`${root}/${name}/SKILL.md\`.`;
    yield [at, { code: 'tree/unknown-path', severity: 'warning', message, hint }];
  }
}
