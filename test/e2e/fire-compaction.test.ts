import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { audit } from '../support/doctor.js';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { createServices, driveRun } from '../support/service.js';
import { sharedServers } from '../support/shared-servers.js';
import { placeOfKey } from '../support/small-model.js';

const CONTEXT = 8_000;
let provider: FakeProvider;
let services: Awaited<ReturnType<typeof createServices>>;
let servers: Awaited<ReturnType<typeof sharedServers>>;
beforeAll(async () => {
  provider = await startFakeProvider((call) => {
    const { turn, isSummary } = placeOfKey(call.idempotencyKey);
    const usage = { input: Math.ceil(call.prompt.length / 4), output: 20 };
    if (isSummary) return { text: `Noted before turn ${turn}.`, usage };
    if (turn === 40) return { text: 'done', usage };
    const [run] = (call.idempotencyKey ?? '').split('/');
    const command = `echo one.${turn} >> files/${run}-one.txt; seq ${turn}000 ${turn}250`;
    return { text: 'A note of mine. '.repeat(30), calls: [{ name: 'Bash', args: { command } }], usage };
  });
  services = await createServices(provider);
  servers = await sharedServers();
});
afterAll(async () => {
  await services.close();
  await provider.close();
  await servers.drop();
});

const FILES = {
  'agents/worker.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n',
  'flows/long.md': flow('## One @worker\n\nCount on.', 'budget: 5\n'),
};

test('security 4: a service that is killed in the midst of a compaction goes on with it; the summary is paid once a call that was made', async () => {
  const dataDir = await services.folder();
  const models = join(dataDir, 'models.yaml');
  const small = {
    provider: 'openai-compatible',
    model: 'fake',
    baseUrl: provider.url,
    key: 'SMALL_KEY',
    contextTokens: CONTEXT,
  };
  await writeFile(
    models,
    JSON.stringify({ default: 'small', models: { small: { ...small, priceIn: 1, priceOut: 10 } } }),
  );
  const env = { ...servers.env, SERVICE_MODELS_FILE: models, SMALL_KEY: 'k' };
  const start = (point?: string) =>
    services.startService({ dataDir, env: point === undefined ? env : { ...env, SERVICE_FAILPOINT: point } });

  const first = await start('compaction-started');
  const workspace = await first.workspace(FILES);
  const id = await first.start(workspace, 'long');
  expect(await driveRun(first, { workspace, id })).toBe('died');
  await servers.reportDeaths();
  const second = await start('compaction-answered');
  expect(await driveRun(second, { workspace, id })).toBe('died');
  await servers.reportDeaths();
  const last = await start();
  const run = await driveRun(last, { workspace, id });
  expect(run).toMatchObject({ status: 'completed', error: null, summary: 'done' });

  const faults = await audit({
    db: last.db,
    dataDir,
    temporal: servers.temporal,
    runId: id,
    calls: provider.byKey(),
  });
  expect(faults).toEqual([]);
  const [rows] = await last.db.query<{ cut: number; estimated: number; epochs: number }>(
    `SELECT (SELECT coalesce(sum(starts - 1), 0) FROM call WHERE run_id = $1 AND call = -1)::int AS cut,
      (SELECT count(*) FROM usage WHERE run_id = $1 AND estimated)::int AS estimated,
      (SELECT max(epoch) FROM message WHERE run_id = $1)::int AS epochs`,
    [id],
  );
  // Two kills, two summaries that may have been paid for; each booked at what it had set aside.
  expect(rows).toMatchObject({ cut: 2, estimated: 2 });
  expect(rows?.epochs).toBeGreaterThanOrEqual(1);
});
