import type { Sandbox } from '../../sandbox/index.js';
import type { Runtime } from './merge-runtime.js';

export interface Interpreter {
  readonly path: string;
  readonly version: string;
}

export interface InterpretersHere {
  /** The one that fits the wish, or the default one without a wish. */
  readonly python: Interpreter | null;
  readonly node: Interpreter | null;
  /** True when `python3` means this one already. */
  readonly isDefaultPython: boolean;
}

/** What programs of this machine find, by name and version, best first. */
const LOOK = `for name in "python$1" python3 python; do
  path=$(command -v "$name") && version=$("$path" -c 'import platform; print(platform.python_version())' 2>/dev/null) && echo "python $path $version"
done
path=$(command -v node) && echo "node $path $(node --version)"
true`;

/** Looks into the sandbox for interpreters that are as wished. A version fits from its beginning: 3.12.4 is 3 and 3.12. */
export async function findInterpreters(
  sandbox: Sandbox,
  { python, node }: Runtime,
  program: Pick<Parameters<Sandbox['run']>[0], 'workDir' | 'workInside' | 'owner' | 'signal'>,
): Promise<InterpretersHere> {
  const { stdout } = await sandbox.run({
    ...program,
    argv: ['bash', '-c', LOOK, 'look', python ?? '3'],
    env: {},
    stdin: null,
    readOnly: [],
    timeoutMs: 30_000,
  });
  const found = stdout.split('\n').flatMap((line) => {
    const [name = '', path = '', version = ''] = line.split(' ');
    return path === '' ? [] : [{ name, path, version: version.replace(/^v/, '') }];
  });
  const fitting = (name: string, wish: string | null) =>
    found.find((entry) => entry.name === name && fits(entry.version, wish)) ?? null;
  const chosen = fitting('python', python);
  const first = found.find(({ name, path }) => name === 'python' && path.endsWith('/python3'));
  return { python: chosen, node: fitting('node', node), isDefaultPython: chosen?.version === first?.version };
}

function fits(version: string, wish: string | null): boolean {
  return wish === null || version === wish || version.startsWith(`${wish}.`);
}
