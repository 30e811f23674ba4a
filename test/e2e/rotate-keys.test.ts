import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readEnvironment } from '../../src/platform/config/index.js';
import { distDir } from '../../src/platform/db/index.js';
import { freshDatabase } from '../support/postgres.js';
import { runDoctor } from '../support/run-doctor.js';
import { createServiceHost, type Service } from '../support/service-host.js';
import { testTemporal } from '../support/temporal.js';
import { fileList } from '../support/workspace-app.js';

let host: Awaited<ReturnType<typeof createServiceHost>>;
let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => {
  host = await createServiceHost();
  database = await freshDatabase('template0');
});
afterAll(async () => {
  await host.close();
  await database.drop();
});

const key = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;
const [k1, k2] = [key('k1'), key('k2')];

async function rotate(env: Readonly<Record<string, string>>): Promise<{ code: unknown; said: string }> {
  const { PATH = '', HOME = '' } = readEnvironment();
  const child = spawn(process.execPath, [join(distDir, 'rotate-keys.js')], {
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, said: out + err };
}

const DIGEST = createHash('sha256').update('value-of-the-shop').digest('hex');
const json = (body: object, method = 'POST') => ({
  method,
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});
const SCRIPT = `- calls:
    - { tool: Bash, args: { command: 'printf %s "$SHOP_TOKEN" | sha256sum | cut -c 1-64' } }
- text: "{{last}}"
`;
const FILES = {
  'AGENTS.md': '---\nmodels: { default: scripted/demo }\n---\n',
  'agents/worker/agent.md': '---\nname: worker\ndescription: Works.\nsecrets: [SHOP_TOKEN]\n---\n\nYou work.\n',
  'agents/worker/script.yaml': SCRIPT,
  'flows/it.md':
    '---\ndescription: It.\n---\n\n## One @worker\n\nDo it.\n\n## Agree\n\n- approve: human\n\n## Two @worker\n\nDo it.\n',
};

interface Run {
  readonly status: string;
  readonly error: string | null;
  readonly steps: readonly { readonly result: string | null }[];
}

test('security 18: the install key is changed as the README says, over restarts and with a run in flight: secrets open, the doctor is content', async () => {
  const dataDir = await host.folder();
  const { address, namespace } = testTemporal();
  const env = {
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    TEMPORAL_TASK_QUEUE: `rotate-${process.pid}`,
    SERVICE_DATA_DIR: dataDir,
  };
  const start = (keys: string) => host.start(dataDir, { ...env, SERVICE_KEYS: keys });
  const run = async (service: Service, id: string) =>
    (await (await service.request(`/api/workspaces/shop/runs/${id}`)).json()) as Run;

  let service = await start(k1);
  expect((await service.request('/api/workspaces', json({ name: 'shop', files: fileList(FILES) }))).status).toBe(201);
  expect(
    (await service.request('/api/secrets', json({ name: 'SHOP_TOKEN', value: 'value-of-the-shop' }, 'PUT'))).status,
  ).toBe(200);
  const started = await service.request('/api/workspaces/shop/flows/it/run', json({}));
  const { runId } = (await started.json()) as { runId: string };
  await expect.poll(async () => (await run(service, runId)).status).toBe('awaiting-approval');
  await service.end('SIGTERM');

  service = await start(`${k2},${k1}`);
  const rotated = await rotate({ ...env, SERVICE_KEYS: `${k2},${k1}` });
  expect(rotated).toMatchObject({
    code: 0,
    said: expect.stringContaining('1 wrapped again; 1 are under the key "k2".'),
  });
  expect(rotated.said).toContain('The key "k1" no longer wraps a secret.');
  expect(await rotate({ ...env, SERVICE_KEYS: `${k2},${k1}` })).toMatchObject({
    code: 0,
    said: expect.stringContaining('0 wrapped again'),
  });
  await service.end('SIGTERM');

  service = await start(k2);
  expect(
    (await service.request(`/api/workspaces/shop/runs/${runId}/approve`, json({ decision: 'approve' }))).status,
  ).toBe(200);
  await expect.poll(async () => (await run(service, runId)).status).toBe('completed');
  expect((await run(service, runId)).steps.map(({ result }) => result?.trim())).toEqual([DIGEST, undefined, DIGEST]);
  expect(service.stdout() + service.stderr()).not.toContain('value-of-the-shop');
  expect(await runDoctor({ ...env, SERVICE_KEYS: k2 })).toEqual({ code: 0, findings: [] });
  const lost = await runDoctor({ ...env, SERVICE_KEYS: k1 });
  expect(lost).toMatchObject({
    code: 1,
    findings: [{ check: 'secrets', says: expect.stringContaining('SHOP_TOKEN is wrapped under the install key "k2"') }],
  });
  const stuck = await rotate({ ...env, SERVICE_KEYS: k1 });
  expect(stuck).toMatchObject({
    code: 1,
    said: expect.stringContaining('Left: the secret SHOP_TOKEN is wrapped under the install key "k2"'),
  });
  expect(await rotate({ ...env, SERVICE_DATA_DIR: await host.folder() })).toMatchObject({
    code: 2,
    said: expect.stringContaining('no install key'),
  });
});
