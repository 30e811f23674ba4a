import { randomBytes } from 'node:crypto';
import { access, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Refusal } from '../shared/refusal.js';
import type { Repository } from './repository.js';
import { endOf, spawnGit } from './run-git.js';

/** A complete pack, with its index beside it. */
export interface KeptPack {
  /** The pack's trailing checksum: 40 hex digits, which also name its file. */
  readonly name: string;
  readonly file: string;
  readonly size: number;
}

/** A folder for objects until they are checked. git sees them only with the quarantine's environment. */
export interface Quarantine {
  readonly folder: string;
  /** For git processes that must see the quarantined objects. */
  readonly env: Readonly<Record<string, string>>;
  /** The repository including the quarantined objects. New objects are written to the quarantine. */
  readonly inside: Repository;
  remove(): Promise<void>;
}

const FOLDER = 'quarantine';

export async function openQuarantine({ gitdir }: Repository): Promise<Quarantine> {
  const folder = join(gitdir, FOLDER, randomBytes(8).toString('hex'));
  await mkdir(join(folder, 'pack'), { recursive: true, mode: 0o700 });
  const env = { GIT_OBJECT_DIRECTORY: folder, GIT_ALTERNATE_OBJECT_DIRECTORIES: join(gitdir, 'objects') };
  return {
    folder,
    env,
    inside: { gitdir, env },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Removes quarantines of dead processes: only the creator knows a quarantine's name, so an old one is unused. */
export async function sweepQuarantine(
  { gitdir }: Repository,
  madeBefore = new Date(Date.now() - 3_600_000),
): Promise<number> {
  const root = join(gitdir, FOLDER);
  const names = await readdir(root).catch(() => []);
  let removed = 0;
  for (const name of names) {
    const folder = join(root, name);
    const made = (await stat(folder).catch(() => null))?.mtimeMs ?? 0;
    if (made >= madeBefore.getTime()) continue;
    await rm(folder, { recursive: true, force: true });
    removed += 1;
  }
  return removed;
}

/** The one complete pack in a quarantine; null when there is none. */
export async function packIn({ folder }: Quarantine): Promise<KeptPack | null> {
  const names = await readdir(join(folder, 'pack'));
  const index = names.find((name) => name.endsWith('.idx'));
  if (index === undefined) return null;
  const file = join(folder, 'pack', index.replace(/\.idx$/, '.pack'));
  return { name: basename(file, '.pack').replace(/^pack-/, ''), file, size: (await stat(file)).size };
}

/** Moves a quarantine's pack into the repository. The index comes last, since git finds a pack by its index. */
export async function adoptPack({ gitdir }: Repository, { file }: KeptPack): Promise<void> {
  const target = join(gitdir, 'objects', 'pack');
  await mkdir(target, { recursive: true });
  const stem = file.slice(0, -'.pack'.length);
  for (const ending of ['.pack', '.rev', '.idx']) {
    const from = `${stem}${ending}`;
    const isThere = await access(from).then(
      () => true,
      () => false,
    );
    if (isThere) await rename(from, join(target, basename(from)));
  }
}

/** Indexes a complete pack and moves it into the repository. Throws when the pack is invalid. */
export async function loadPack(repository: Repository, bytes: Readable): Promise<void> {
  const quarantine = await openQuarantine(repository);
  try {
    await adoptPack(repository, await indexPack(repository, quarantine, bytes));
  } finally {
    await quarantine.remove();
  }
}

/**
 * Writes the objects that `wants` reach and `haves` do not into a quarantine, as one self-contained pack: for commits
 * that the service creates on disk only, such as merges. The caller removes the quarantine.
 */
export async function makePack(
  repository: Repository,
  quarantine: Quarantine,
  { wants, haves }: { readonly wants: readonly string[]; readonly haves: readonly string[] },
): Promise<KeptPack> {
  const args = ['pack-objects', '--revs', '--stdout', '--quiet', '--delta-base-offset'];
  const child = spawnGit(repository, args, { env: quarantine.env });
  child.stderr.resume();
  child.stdin.end([...wants, ...haves.map((id) => `^${id}`), ''].join('\n'));
  const [code, pack] = await Promise.all([endOf(child), indexPack(repository, quarantine, child.stdout)]);
  if (code !== 0) throw new Error('the objects of a commit could not be packed');
  return pack;
}

async function indexPack(repository: Repository, quarantine: Quarantine, bytes: Readable): Promise<KeptPack> {
  const child = spawnGit(repository, ['index-pack', '--stdin'], { env: quarantine.env });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-2_000);
  });
  child.stdout.resume();
  // A failing git closes its stdin first. Its stderr has the reason, so the broken pipe is ignored.
  const [code] = await Promise.all([endOf(child), pipeline(bytes, child.stdin).catch(() => undefined)]);
  const pack = code === 0 ? await packIn(quarantine) : null;
  // The source stream may have failed with a Refusal, which is then the reason.
  if (!pack && bytes.errored instanceof Refusal) throw bytes.errored;
  if (!pack) throw new Error(`a pack cannot be read: ${stderr.trim()}`);
  return pack;
}
