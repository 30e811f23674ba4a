import { type RefCommand, type Repository, runGit } from '../../git/index.js';
import { errorMessage } from '../../shared/refusal.js';

/** The faults of the objects that these refs will point to: of the wrong type, or incomplete. */
export async function checkObjects(
  inside: Repository,
  commands: readonly RefCommand[],
): Promise<ReadonlyMap<RefCommand, string>> {
  const faults = new Map<RefCommand, string>();
  const wanted = commands.filter((command) => command.new !== null);
  // In parallel: the result is wasted for faulty pushes only, which are rare.
  const [kinds, allWhole] = await Promise.all([kindsOf(inside, wanted), isWhole(inside, wanted)]);
  const sound = wanted.filter((command, index) => {
    const kind = kinds[index];
    const isTag = command.ref.startsWith('refs/tags/');
    if (kind === 'commit' || (isTag && kind === 'tag')) return true;
    faults.set(command, kind === 'missing' ? 'its commit was not sent' : `it names a ${kind} and no commit`);
    return false;
  });
  if (allWhole) return faults;
  for (const command of await notWhole(inside, sound))
    faults.set(command, 'objects of it were not sent: fetch, then push again');
  return faults;
}

async function kindsOf(inside: Repository, commands: readonly RefCommand[]): Promise<readonly string[]> {
  const known = commands.map(({ new: id }) => inside.objects?.get(id ?? '')?.type);
  // An annotated tag counts as the object that it points to.
  if (known.every((type) => type !== undefined && type !== 'tag')) return known as string[];
  const names = commands.map(({ ref, new: id }) => (ref.startsWith('refs/tags/') ? `${id}^{}` : `${id}`));
  const { stdout } = await runGit(inside, ['cat-file', '--batch-check=%(objecttype)'], {
    input: `${names.join('\n')}\n`,
  });
  return stdout
    .toString('latin1')
    .trim()
    .split('\n')
    .map((line) => (line.endsWith(' missing') ? 'missing' : line));
}

/**
 * The commands with missing objects, found as git's own receive-pack does. Checks one by one only if something is
 * missing.
 */
async function notWhole(inside: Repository, commands: readonly RefCommand[]): Promise<readonly RefCommand[]> {
  if (commands.length === 0 || (await isWhole(inside, commands))) return [];
  if (commands.length === 1) return commands;
  const broken: RefCommand[] = [];
  for (const command of commands) if (!(await isWhole(inside, [command]))) broken.push(command);
  return broken;
}

async function isWhole(inside: Repository, commands: readonly RefCommand[]): Promise<boolean> {
  if (commands.length === 0) return true;
  try {
    await runGit(inside, ['rev-list', '--objects', '--stdin', '--not', '--all', '--quiet'], {
      input: commands.map((command) => `${command.new}\n`).join(''),
    });
    return true;
  } catch (error) {
    if (/\((killed|\d+)\)/.test(errorMessage(error))) return false;
    throw error;
  }
}
