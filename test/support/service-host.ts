import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readEnvironment } from '../../src/platform/config/index.js';
import { packageRoot } from '../../src/platform/db/index.js';
import { FAILPOINT_FLAG } from '../../src/shared/failpoint.js';
import { buildService, MAIN, NODE_FLAGS } from './build-service.js';
import { type AnswerCheck, createAnswerCheck, type Description } from './checked-answers.js';
import { copiesOf } from './copied-folder.js';
import { removeWithServers } from './embedded-host.js';

export interface Service {
  readonly pid: number;
  /** Null for a worker, which serves nothing. */
  readonly url: string | null;
  stderr(): string;
  stdout(): string;
  /** A request with the admin key of the data folder's bootstrap.json. */
  request(path: string, init?: RequestInit): Promise<Response>;
  end(signal: NodeJS.Signals): Promise<number | null>;
  readonly exited: Promise<number | null>;
}

type Env = Readonly<Record<string, string>>;

const READY = /is ready at (\S+)|The worker is ready/;

/** The built service as a user starts it, in processes and folders that end with the test file. */
export async function createServiceHost() {
  await buildService();
  const children: ChildProcess[] = [];
  const folders: string[] = [];

  async function folder(): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), 'signalbox-service-'));
    folders.push(path);
    return path;
  }
  function start(dataDir: string, env: Env = {}, flags = flagsFor(env)): Promise<Service> {
    const child = spawnService(dataDir, env, flags);
    children.push(child);
    return untilReady(child, dataDir);
  }
  const copy = copiesOf(async () => {
    const path = await folder();
    await (await start(path)).end('SIGTERM');
    return path;
  });
  return {
    folder,
    /** Of an installation with servers of its own that was used once and ended well. */
    usedFolder: async () => copy(await folder()),
    /** Resolves when it says that it is ready; rejects with all that it wrote when it ends before. */
    start,
    async close(): Promise<void> {
      for (const child of children) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      for (const path of folders) await removeWithServers(path);
    },
  };
}

/** A failpoint in the environment alone is not heard. */
const flagsFor = (env: Env): readonly string[] => ('SERVICE_FAILPOINT' in env ? [FAILPOINT_FLAG] : []);

/** Made of the description that the built service serves: one build, so one description for all services of a worker. */
let described: Promise<AnswerCheck> | undefined;

/** Reads the description once; a try that failed is made again by the next caller. */
function answerCheck(url: string): Promise<AnswerCheck> {
  described ??= readAnswerCheck(url).catch((error: unknown) => {
    described = undefined;
    throw error;
  });
  return described;
}

async function readAnswerCheck(url: string): Promise<AnswerCheck> {
  const response = await fetch(`${url}/docs/openapi.json`);
  if (!response.ok) throw new Error(`no description of the API: ${response.status} ${await response.text()}`);
  return createAnswerCheck((await response.json()) as Description);
}

function spawnService(dataDir: string, env: Env, flags: readonly string[]): ChildProcess {
  const { PATH = '', HOME = '' } = readEnvironment();
  return spawn(process.execPath, [...NODE_FLAGS, MAIN, ...flags], {
    cwd: packageRoot,
    env: { PATH, HOME, SERVICE_DATA_DIR: dataDir, SERVICE_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function untilReady(child: ChildProcess, dataDir: string): Promise<Service> {
  const said = { stdout: '', stderr: '' };
  const closed = once(child, 'close').then(([code]) => code as number | null);
  const url = await new Promise<string | null>((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      said.stdout += chunk.toString('utf8');
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      said.stderr += chunk.toString('utf8');
      const ready = READY.exec(said.stderr);
      if (ready) resolve(ready[1] ?? null);
    });
    closed.then((code) => reject(new Error(`exit ${code}: ${said.stderr.trim()}`)));
  });
  // Now, while all that it needs is up: a test may end its database before the first request. A service that ends here
  // fails the requests of its test.
  if (url !== null) await answerCheck(url).catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    url,
    stderr: () => said.stderr,
    stdout: () => said.stdout,
    async request(path, init = {}) {
      const { key } = JSON.parse(await readFile(join(dataDir, 'bootstrap.json'), 'utf8')) as { key: string };
      const headers = { authorization: `Bearer ${key}`, ...init.headers };
      const response = await fetch(`${url}${path}`, { ...init, headers });
      const check = await answerCheck(url ?? '');
      await check({ method: init.method ?? 'GET', path: new URL(path, 'http://localhost').pathname }, response);
      return response;
    },
    end(signal) {
      child.kill(signal);
      return closed;
    },
    exited: closed,
  };
}
