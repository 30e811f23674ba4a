import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { routes } from '../../src/api/routes/index.js';
import { FAILPOINT_FLAG, FAILPOINTS } from '../../src/shared/failpoint.js';
import type { Killed, KilledElsewhere } from '../support/failpoints/job.js';
import { JOBS, KEYED } from '../support/failpoints/jobs.js';
import { startJobProvider } from '../support/failpoints/provider.js';
import { killApis, killWorkers, type Outcomes } from '../support/failpoints/stage.js';
import { freshDatabase } from '../support/postgres.js';
import { createServiceHost } from '../support/service-host.js';
import { testTemporal } from '../support/temporal.js';

const TABLE = Object.entries<Killed | KilledElsewhere>(JOBS);
const ROWS = TABLE.flatMap(([point, row]) =>
  'jobs' in row ? row.jobs.map((job, index) => ({ point, process: row.in, job, workspace: `${point}-${index}` })) : [],
);
const ELSEWHERE = TABLE.flatMap(([point, row]) => ('elsewhere' in row ? [[point, row.elsewhere] as const] : []));
/** Runs that wait for each other live through many workers: they come last, as a call that three of them cut is given up. */
const isLong = ({ job }: (typeof ROWS)[number]): number => (job.keys?.includes('concurrency') ? 1 : 0);
const rowsOf = (process: Killed['in']) =>
  ROWS.filter((row) => row.process === process).toSorted((a, b) => isLong(a) - isLong(b));

const outcomes: Outcomes = new Map();
let findings: readonly string[];

beforeAll(async () => {
  const provider = await startJobProvider();
  const began = Date.now();
  findings = (
    await Promise.all([killApis(provider, rowsOf('api'), outcomes), killWorkers(provider, rowsOf('worker'), outcomes)])
  ).flat();
  await provider.close();
  console.log(`${ROWS.length} kills at ${Object.keys(JOBS).length} failpoints: ${Date.now() - began} ms`);
}, 900_000);

test.each(ROWS.map((row) => [row.point, row.job.name, row] as const))(
  'killed at %s (%s), a new process ends the job: nothing recorded is done twice',
  (_point, _name, row) => {
    const outcome = outcomes.get(row);
    if (!outcome || outcome instanceof Error) throw outcome ?? new Error('it was not done');
    expect(outcome.faults).toEqual([]);
    expect(outcome.did).toEqual(row.job.did);
    if (row.job.shows) expect(outcome.runs.at(-1)).toMatchObject(row.job.shows);
  },
);

test('after all these kills the doctor finds nothing wrong', () => {
  expect(findings).toEqual([]);
});

test.each(ELSEWHERE)('%s is killed by a test of its own, %s', (point, file) => {
  const text = readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
  expect(text).toContain(`'${point}'`);
});

test('every route whose answer is written with its effect is killed before it answers', () => {
  const settled = routes.filter((route) => route.settled).map(({ method, path }) => `${method.toUpperCase()} ${path}`);
  expect(KEYED.map(({ name }) => name).toSorted()).toEqual(settled.toSorted());
});

test('a failpoint that was left over in the environment is ignored, and said so; armed, it is said louder', async () => {
  const host = await createServiceHost();
  const database = await freshDatabase();
  const temporal = testTemporal();
  const folder = await host.folder();
  const env = {
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace,
    SERVICE_ROLE: 'api',
  };
  const create = (name: string) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': name },
    body: JSON.stringify({ name }),
  });
  try {
    for (const left of ['key-claimed', 'a-point-of-an-old-release']) {
      const service = await host.start(folder, { ...env, SERVICE_FAILPOINT: left }, []);
      expect(service.stderr()).toContain(`SERVICE_FAILPOINT=${left} is ignored: it is for tests`);
      const answer = await service.request('/api/workspaces', create(left));
      expect(answer.status).toBe(201);
      expect(await service.end('SIGTERM')).toBe(0);
    }
    const armed = await host.start(folder, { ...env, SERVICE_FAILPOINT: 'key-claimed' });
    expect(armed.stderr()).toContain('THIS PROCESS KILLS ITSELF AT key-claimed');
    await armed.request('/api/workspaces', create('dies')).catch(() => null);
    expect(await armed.exited).toBe(null);
    const unknown = host.start(folder, { ...env, SERVICE_FAILPOINT: 'everywhere' });
    const names = Object.keys(FAILPOINTS).join(', ');
    await expect(unknown).rejects.toThrow(`SERVICE_FAILPOINT: unknown failpoint everywhere: use one of ${names}`);
    expect(FAILPOINT_FLAG).toBe('--with-failpoints');
  } finally {
    await host.close();
    await database.drop();
  }
});
