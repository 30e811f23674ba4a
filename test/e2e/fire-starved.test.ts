import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { threadCpuMs } from '../../src/shared/thread-cpu.js';
import { type Crew, startCrew } from '../support/crew.js';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { historiesOf } from '../support/own-temporal.js';
import { testTemporal } from '../support/temporal.js';

const RUNS = 150;
/** In each period the worker may use so much of a core: 5 %. */
const PERIOD_MS = 400;
const SHARE = 0.05;
const POLL_EVERY_MS = 5;
/** `TimeoutType` of Temporal's API. */
const START_TO_CLOSE = 1;

let provider: FakeProvider;
let crew: Crew;
beforeAll(async () => {
  provider = await startFakeProvider(() => ({ text: 'done' }));
  crew = await startCrew(provider);
});
afterAll(() => crew.close());

/** Tasks that a worker began and did not end in time. One that it did not fetch from its own queue in time goes to all. */
function thrownAway(timeouts: readonly unknown[]): number {
  return timeouts.filter((type) => Number(type) === START_TO_CLOSE).length;
}

/** Gives the process a share of a core and no more, as a limit of a container does: also where other programs need the CPU. */
function starve(pid: number): () => void {
  let timer: NodeJS.Timeout;
  const rest = (): void => {
    process.kill(pid, 'SIGSTOP');
    timer = setTimeout(work, PERIOD_MS * (1 - SHARE));
  };
  const work = (): void => {
    process.kill(pid, 'SIGCONT');
    const allowed = (threadCpuMs(`${pid}`) ?? 0) + PERIOD_MS * SHARE;
    const look = (): void => {
      if ((threadCpuMs(`${pid}`) ?? 0) >= allowed) rest();
      else timer = setTimeout(look, POLL_EVERY_MS);
    };
    look();
  };
  rest();
  return () => {
    clearTimeout(timer);
    process.kill(pid, 'SIGCONT');
  };
}

test('150 approvals on a worker that has 5 % of a core go on one after the other, and no task is thrown away', {
  timeout: 600_000,
}, async () => {
  const { api } = crew;
  const workspace = await api.workspace({
    'AGENTS.md': '# Shop\n\nBe brief.\n',
    'agents/worker.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n',
    'flows/one.md': flow('## Sign\n\n- approve: human\n\nOK?\n\n## Do @worker\n\nDo it.'),
  });
  const worker = await crew.startWorker();
  const ids: string[] = [];
  for (let n = 0; n < RUNS; n += 1) ids.push(await api.start(workspace, 'one'));
  const inState = async (status: string) => {
    const [row] = await api.db.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM run WHERE id = ANY($1) AND status = $2',
      [ids, status],
    );
    return row?.count;
  };
  await expect.poll(() => inState('awaiting-approval'), { interval: 500 }).toBe(RUNS);
  const feed = starve(worker.pid);
  try {
    for (const id of ids) {
      const path = `/api/workspaces/${workspace}/runs/${id}/approve`;
      const body = JSON.stringify({ decision: 'approve' });
      const headers = { 'content-type': 'application/json' };
      expect((await api.request(path, { method: 'POST', body, headers })).status).toBe(200);
    }
    await expect.poll(() => inState('completed'), { timeout: 420_000, interval: 1_000 }).toBe(RUNS);
  } finally {
    feed();
  }
  const connection = await Connection.connect({ address: crew.temporal });
  const client = new Client({ connection, namespace: testTemporal().namespace });
  const events = (await Promise.all(ids.map((id) => historiesOf(client, id))))
    .flat()
    .flatMap((history) => history.events ?? []);
  expect(thrownAway(events.map((event) => event.workflowTaskTimedOutEventAttributes?.timeoutType))).toBe(0);
  expect(events.filter((event) => event.activityTaskTimedOutEventAttributes).length).toBe(0);
  await connection.close();
  await worker.end('SIGTERM');
});
