import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Crew, startCrew } from '../support/crew.js';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';

let provider: FakeProvider;
let crew: Crew;
beforeAll(async () => {
  provider = await startFakeProvider();
  crew = await startCrew(provider);
});
afterAll(() => crew.close());

test('runs whose workers are killed four times in the middle of a call go on, whatever else was at work', async () => {
  provider.respond(() => ({ text: 'one two three', hangAfter: 1 }));
  const workspace = await crew.api.workspace({
    'AGENTS.md': '# Shop\n\nBe brief.\n',
    'agents/worker.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n',
    'flows/one.md': flow('## One @worker\n\nDo it.'),
  });
  const ids = await Promise.all([1, 2, 3].map(() => crew.api.start(workspace, 'one')));
  const asked = (id: string) => provider.calls.filter(({ idempotencyKey }) => idempotencyKey?.startsWith(id)).length;
  const most = () => Math.max(...ids.map(asked));
  for (let death = 1; death <= 4; death += 1) {
    const worker = await crew.startWorker();
    // From the fourth start on, one call under suspicion is made at a time.
    if (death <= 3) await expect.poll(() => ids.every((id) => asked(id) >= death)).toBe(true);
    else await expect.poll(most).toBeGreaterThanOrEqual(4);
    await worker.end('SIGKILL');
  }
  provider.respond(() => ({ text: 'at last' }));
  const last = await crew.startWorker();
  for (const id of ids) {
    await expect.poll(async () => (await crew.api.run(workspace, id)).status).toBe('completed');
  }
  await last.end('SIGTERM');
});

/** Makes the process throw an error that no part of it handles. */
const BREAKS_AT_SIGNAL = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(
    "process.on('SIGUSR2', () => { throw new Error('a part broke'); })",
  )}`,
};

test('a worker that ends because of an error was not told to leave: its call counts a death, one that a signal ends counts none', async () => {
  provider.respond(() => ({ text: 'one two three', hangAfter: 1 }));
  const { db } = crew.api;
  const workspace = await crew.api.workspace({
    'AGENTS.md': '# Shop\n\nBe brief.\n',
    'agents/worker.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n',
    'flows/one.md': flow('## One @worker\n\nDo it.'),
  });
  const id = await crew.api.start(workspace, 'one');
  const deaths = async () => {
    const [row] = await db.query<{ result: { deaths?: object } }>('SELECT result FROM call WHERE run_id = $1', [id]);
    return row?.result.deaths;
  };
  const asked = () => provider.calls.filter(({ idempotencyKey }) => idempotencyKey?.startsWith(id)).length;
  const atWork = async (calls: number, env: Record<string, string> = {}) => {
    const worker = await crew.startWorker(env);
    await expect.poll(asked).toBe(calls);
    return worker;
  };
  expect(await (await atWork(1)).end('SIGTERM')).toBe(0);
  const broken = await atWork(2, BREAKS_AT_SIGNAL);
  expect(await deaths()).toBeUndefined();
  expect(await broken.end('SIGUSR2')).toBe(1);
  const last = await atWork(3);
  expect(await deaths()).toEqual({ inCompany: 1, alone: 0 });
  await last.end('SIGKILL');
});

/** Makes the main thread of the process spin until its end. */
const SPINS_AT_SIGNAL = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent("process.on('SIGUSR2', () => { for (;;); })")}`,
};

test('a call that blocks its worker counts as its death although the worker lives, and a worker that was stopped counts none', async () => {
  provider.respond(() => ({ text: 'one two three', hangAfter: 1 }));
  const { db } = crew.api;
  const workspace = await crew.api.workspace({
    'AGENTS.md': '# Shop\n\nBe brief.\n',
    'agents/worker.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n',
    'flows/one.md': flow('## One @worker\n\nDo it.'),
  });
  const id = await crew.api.start(workspace, 'one');
  const call = async () => {
    const [row] = await db.query<{ result: { deaths?: object; worker: string } }>(
      'SELECT result FROM call WHERE run_id = $1',
      [id],
    );
    return row?.result;
  };
  const asked = () => provider.calls.filter(({ idempotencyKey }) => idempotencyKey?.startsWith(id)).length;

  const stopped = await crew.startWorker();
  await expect.poll(asked).toBe(1);
  process.kill(stopped.pid, 'SIGSTOP');
  const spinning = await crew.startWorker(SPINS_AT_SIGNAL);
  await expect.poll(asked).toBe(2);
  const started = await call();
  expect(started?.deaths).toBeUndefined();
  process.kill(spinning.pid, 'SIGUSR2');
  const blocks = async () =>
    (await db.query<{ blocks: number }>('SELECT blocks FROM worker_seen WHERE id = $1', [started?.worker]))[0]?.blocks;
  await expect.poll(blocks).toBe(1);
  const last = await crew.startWorker();
  await expect.poll(asked).toBe(3);
  expect((await call())?.deaths).toEqual({ inCompany: 1, alone: 0 });
  for (const worker of [stopped, spinning, last]) await worker.end('SIGKILL');
});
