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
afterAll(() => crew.close(), 60_000);

test('runs whose workers are killed four times in the middle of a call go on, whatever else was at work', {
  timeout: 240_000,
}, async () => {
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
    if (death <= 3) await expect.poll(() => ids.every((id) => asked(id) >= death), { timeout: 60_000 }).toBe(true);
    else await expect.poll(most, { timeout: 60_000 }).toBeGreaterThanOrEqual(4);
    await worker.end('SIGKILL');
  }
  provider.respond(() => ({ text: 'at last' }));
  const last = await crew.startWorker();
  for (const id of ids) {
    await expect.poll(async () => (await crew.api.run(workspace, id)).status, { timeout: 90_000 }).toBe('completed');
  }
  await last.end('SIGTERM');
});
