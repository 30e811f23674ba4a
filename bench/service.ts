import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

export interface Service {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly url: string;
  readonly key: string;
  call(path: string, body?: object): Promise<Record<string, string>>;
  /** Starts a run and waits for its end by its stream. */
  run(flow: string, task?: string): Promise<void>;
  stop(): Promise<void>;
}

/**
 * The built service, as a user starts it. `apart` gives it a session of its own: Linux shares a busy machine's time among
 * sessions, and what floods the service must not have its time.
 */
export async function startService(
  dist: string,
  dataDir: string,
  env: Record<string, string>,
  apart = false,
): Promise<Service> {
  const child = spawn(process.execPath, [join(dist, 'main.js')], {
    env: { ...process.env, SERVICE_PORT: '0', SERVICE_LOG_LEVEL: 'error', SERVICE_DATA_DIR: dataDir, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: apart,
  });
  let words = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on('data', (chunk) => {
      words += String(chunk);
      if (words.includes('is ready at')) resolve();
    });
    child.once('exit', () => reject(new Error(`the service ended: ${words}`)));
  });
  const { url, key } = JSON.parse(readFileSync(join(dataDir, 'bootstrap.json'), 'utf8')) as {
    url: string;
    key: string;
  };
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const call = async (path: string, body?: object): Promise<Record<string, string>> => {
    const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(url + path, init);
    if (response.status === 503) {
      await wait(Number(response.headers.get('retry-after')) * 1_000);
      return call(path, body);
    }
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Record<string, string>;
  };
  return {
    child,
    pid: child.pid ?? 0,
    url,
    key,
    call,
    run: async (flow, task = '') => {
      const { runId } = await call(`/api/workspaces/bench/flows/${flow}/run`, { task });
      const response = await fetch(`${url}/api/workspaces/bench/runs/${runId}/stream?after=0`, { headers });
      const text = await response.text();
      if (!text.includes('event: run.completed')) throw new Error(`run ${runId} did not complete`);
    },
    stop: async () => {
      child.kill('SIGTERM');
      await new Promise((resolve) => child.once('exit', resolve));
    },
  };
}

const steps = (count: number) =>
  Array.from({ length: count }, (_, n) => `## Step ${n + 1} @worker\n\nDo it.\n`).join('\n');

/** The workspace that is measured: flows of 3, 10 and 50 steps, and one with a gate. */
export const FILES = [
  { path: 'agents/worker.md', content: '---\ndescription: Works.\n---\n\nYou work.\n' },
  ...[3, 10, 50].map((count) => ({
    path: `flows/steps-${count}.md`,
    content: `---\ndescription: Of ${count} steps.\n---\n\n${steps(count)}`,
  })),
  {
    path: 'flows/gate.md',
    content:
      '---\ndescription: Gate.\n---\n\n## Gate\n\n- approve: human\n\nOK?\n\n## Next @worker\n\nDo MARK-{{input}}.\n',
  },
];
