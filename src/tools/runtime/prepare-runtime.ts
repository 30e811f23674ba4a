import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Deps } from '../../deps.js';
import { PROGRAM_PATH, removeFolder, type Sandbox } from '../../sandbox/index.js';
import { untilAborted } from '../../shared/deadline.js';
import type { JsonObject } from '../../shared/json.js';
import { Refusal } from '../../shared/refusal.js';
import type { ToolContext } from '../contract.js';
import { installRuntime } from './install-runtime.js';
import { RUNTIME_INSIDE } from './install-script.js';
import { mergeRuntime, type Runtime } from './merge-runtime.js';
import {
  type CacheEntry,
  findEntry,
  holdEntry,
  makeRoom,
  newEntry,
  placeEntry,
  type RuntimeCache,
} from './runtime-cache.js';

/** Lists the interpreters that programs find on this machine, by name, path and version, best first. */
const FIND_INTERPRETERS = `for name in "python$1" python3 python; do
  path=$(command -v "$name") && version=$("$path" -c 'import platform; print(platform.python_version())' 2>/dev/null) && echo "python $path $version"
done
path=$(command -v node) && echo "node $path $(node --version)"
true`;

export type RuntimeDeps = Pick<Deps, 'config' | 'sandbox' | 'log'>;

/** What a program needs to find the interpreters and packages of its step's `runtime`. */
export interface PreparedRuntime {
  readonly env: Readonly<Record<string, string>>;
  /** /runtime, and /node_modules for npm packages, where Node finds them from any folder. */
  readonly readOnly: readonly { readonly host: string; readonly inside: string }[];
  /** Call it when the program has ended. Until then the environment is not removed. */
  release(): void;
}

const NOTHING: PreparedRuntime = { env: {}, readOnly: [], release: () => undefined };

/** Running preparations of this process by hash: others that need the same environment wait for it. */
const underWay = new Map<string, { readonly work: Promise<unknown>; readonly runId: string }>();

const interpreters = new Map<string, InterpretersHere>();

/**
 * The environment of a step: the `runtime` of AGENTS.md, of the agent and of `own` (a tool's) merged. It is prepared in
 * the sandbox unless this machine has one with the same hash, and recorded in the run's trace. Returns a sentence when it
 * is unavailable. For every program of the step: Bash, script tools, local MCP servers.
 */
export async function prepareRuntime(
  deps: RuntimeDeps,
  context: ToolContext,
  own: JsonObject = {},
): Promise<PreparedRuntime | string> {
  const wish = mergeRuntime([context.plan.workspace.runtime, context.agent.runtime, own]);
  if (typeof wish === 'string') return wish;
  if (wish.python === null && wish.node === null && wish.pip.length === 0 && wish.npm.length === 0) return NOTHING;
  try {
    return await prepared(deps, context, wish);
  } catch (error) {
    if (error instanceof Refusal && (error.kind === 'unavailable' || error.kind === 'refused')) return error.message;
    throw error;
  }
}

async function prepared(deps: RuntimeDeps, context: ToolContext, wish: Runtime): Promise<PreparedRuntime> {
  const cache: RuntimeCache = { root: join(deps.config.dataDir, 'sandbox', 'runtimes'), uid: deps.sandbox.uid };
  const here = await interpretersHere(deps, context, { cache, wish });
  const needs = {
    python: wish.pip.length > 0 || (wish.python !== null && !here.isDefaultPython),
    node: wish.node !== null && here.node === null,
  };
  if (needs.python && here.python === null)
    throw new Refusal(
      'refused',
      `runtime: this machine has no Python ${wish.python ?? ''} that programs can see: install python${wish.python ?? '3'} on it, or name a version that it has`,
    );
  if (!needs.python && !needs.node && wish.npm.length === 0) return NOTHING;
  if (deps.sandbox.driver === 'none')
    throw new Refusal(
      'refused',
      'runtime: packages and interpreters are prepared in the sandbox only, and SERVICE_SANDBOX is none',
    );
  const hash = hashOf(wish, here);
  for (;;) {
    const entry = await findEntry(cache, hash);
    if (entry !== null) return shown(entry, holdEntry(cache, hash));
    context.signal.throwIfAborted();
    const other = underWay.get(hash);
    // The other preparation may be stopped with its own run. Then one of the waiters prepares.
    if (other !== undefined) await waitForOther(other, context, { hash, wish });
    else await alone(hash, context.run.id, () => prepareOnce(deps, context, { cache, wish, here, needs, hash }));
  }
}

/**
 * Waits for another program that prepares the same environment. If that belongs to another run, this run's trace shows
 * the wait.
 */
async function waitForOther(
  other: { readonly work: Promise<unknown>; readonly runId: string },
  context: ToolContext,
  { hash, wish }: Pick<Preparation, 'hash' | 'wish'>,
): Promise<void> {
  const details = { packages: packagesOf(wish), hash: hash.slice(0, 12), shared: true };
  const began = performance.now();
  const emit = other.runId === context.run.id ? undefined : context.emit;
  emit?.('sandbox.preparing', details);
  await untilAborted(other.work, context.signal);
  emit?.('sandbox.prepared', { ...details, ms: Math.round(performance.now() - began) });
}

function packagesOf({ pip, npm }: Runtime): string {
  return [...pip, ...npm].join(', ');
}

async function alone(hash: string, runId: string, work: () => Promise<void>): Promise<void> {
  const mine = work();
  const quiet = mine.catch(() => undefined);
  underWay.set(hash, { work: quiet, runId });
  try {
    await mine;
  } finally {
    underWay.delete(hash);
  }
}

export interface Preparation {
  readonly cache: RuntimeCache;
  readonly wish: Runtime;
  readonly here: InterpretersHere;
  readonly needs: { readonly python: boolean; readonly node: boolean };
  readonly hash: string;
}

async function prepareOnce(deps: RuntimeDeps, context: ToolContext, preparation: Preparation): Promise<void> {
  const { cache, hash, wish } = preparation;
  const wanted = packagesOf(wish);
  const began = performance.now();
  context.emit?.('sandbox.preparing', { packages: wanted, hash: hash.slice(0, 12) });
  const folder = await newEntry(cache);
  try {
    const bytes = await installRuntime(deps, context, { ...preparation, folder });
    await placeEntry(cache, hash, folder, bytes);
    context.emit?.('sandbox.prepared', { packages: wanted, bytes, ms: Math.round(performance.now() - began) });
  } catch (error) {
    await removeFolder(folder);
    if (error instanceof Refusal) context.emit?.('sandbox.unprepared', { packages: wanted, error: error.message });
    throw error;
  }
  await makeRoom(cache);
}

/** Determined once per process, unless it was aborted. */
async function interpretersHere(
  deps: RuntimeDeps,
  context: ToolContext,
  { cache, wish }: Pick<Preparation, 'cache' | 'wish'>,
): Promise<InterpretersHere> {
  const key = `${deps.sandbox.driver} ${wish.python} ${wish.node}`;
  const known = interpreters.get(key);
  if (known) return known;
  const folder = await newEntry(cache);
  try {
    const here = await findInterpreters(deps.sandbox, wish, {
      workDir: join(folder, 'env'),
      workInside: RUNTIME_INSIDE,
      owner: { runId: context.run.id, lane: context.lane },
      signal: context.signal,
    });
    context.signal.throwIfAborted();
    interpreters.set(key, here);
    return here;
  } finally {
    await removeFolder(folder);
  }
}

/** Packages are built for one interpreter version, so an updated machine prepares the environment again. */
function hashOf(wish: Runtime, { python, node }: InterpretersHere): string {
  return createHash('sha256')
    .update(JSON.stringify([1, process.arch, wish, python, node]))
    .digest('hex');
}

function shown({ host, hasNodeModules }: CacheEntry, release: () => void): PreparedRuntime {
  const folders = ['interpreter/node_modules/.bin', 'python/bin', 'node_modules/.bin'];
  const path = [...folders.map((folder) => `${RUNTIME_INSIDE}/${folder}`), PROGRAM_PATH].join(':');
  return {
    env: { PATH: path },
    readOnly: [
      { host, inside: RUNTIME_INSIDE },
      ...(hasNodeModules ? [{ host: join(host, 'node_modules'), inside: '/node_modules' }] : []),
    ],
    release,
  };
}

interface Interpreter {
  readonly path: string;
  readonly version: string;
}

interface InterpretersHere {
  /** The one of the wanted version, or the default one if no version is wanted. */
  readonly python: Interpreter | null;
  readonly node: Interpreter | null;
  /** True when `python3` means this one already. */
  readonly isDefaultPython: boolean;
}

/**
 * Finds interpreters of the wanted versions in the sandbox. A version matches by its beginning: 3.12.4 is 3 and 3.12.
 */
async function findInterpreters(
  sandbox: Sandbox,
  { python, node }: Runtime,
  program: Pick<Parameters<Sandbox['run']>[0], 'workDir' | 'workInside' | 'owner' | 'signal'>,
): Promise<InterpretersHere> {
  const { stdout } = await sandbox.run({
    ...program,
    argv: ['bash', '-c', FIND_INTERPRETERS, 'look', python ?? '3'],
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
