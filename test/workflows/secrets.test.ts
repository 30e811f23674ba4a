import { randomBytes } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { InstallKeys } from '../../src/platform/config/index.js';
import { createNet } from '../../src/platform/net/index.js';
import { createBlobStore } from '../../src/platform/storage/index.js';
import { rotateKeys } from '../../src/secrets/index.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { createTestDeps } from '../support/create-test-app.js';
import { type FakeAnswer, type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { filesWith, formsOfPiece, tablesWith, textOfHistory } from '../support/leaks.js';
import { startOAuthProvider } from '../support/oauth-provider.js';
import { closedHistoriesOf } from '../support/own-temporal.js';
import { recordingLog } from '../support/recording-log.js';
import { secretSamples } from '../support/secret-samples.js';
import { testTemporal } from '../support/temporal.js';
import { noModels } from '../support/workspace-app.js';

/** Stands in every canary, and nowhere else. */
const PIECE = 'zq4711pelicanqz';
const CANARY = `cänary/${PIECE}+"of it" &=%`;
const samples = {
  ...secretSamples(CANARY),
  api: { key: `key/${PIECE}+"of it"&=%` },
};
/** Lines of the private keys, which no encoder changes. */
const KEY_LINES = [samples.ssh, samples.service_account].map(({ private_key }) => private_key.split('\n')[1] ?? '');
const FORMS = [PIECE, ...KEY_LINES].flatMap(formsOfPiece);

let provider: FakeProvider;
let app: EngineApp;
let temporal: Client;
const lines: object[] = [];
const key = (id: string) => ({ id, key: new Uint8Array(randomBytes(32)) });
const k1 = key('k1');
/** Read by the app at each use, so that a test can change what its processes were started with. */
const keys = { ...ringOf(k1) };
/** What the blob store says next instead of its answer. */
const broken: string[] = [];

function ringOf(...all: readonly ReturnType<typeof key>[]): { -readonly [K in keyof InstallKeys]: InstallKeys[K] } {
  return { signing: all[0]?.key ?? new Uint8Array(), ring: all };
}

beforeAll(async () => {
  provider = await startFakeProvider();
  const { config } = await createTestDeps();
  const blobs = createBlobStore({ dataDir: config.dataDir, s3: null });
  app = await createEngineApp({
    models: { ...noModels, single: { baseUrl: provider.url, apiKey: 'k', model: 'fake', priceIn: 1, priceOut: 10 } },
    deps: {
      keys,
      log: recordingLog(lines),
      net: createNet({ config: { allowHosts: [{ host: '127.0.0.1', port: null }], version: '0.0.0-test' } }),
      blobs: {
        ...blobs,
        put: async (content) => {
          const says = broken.shift();
          if (says !== undefined) throw new Error(says, { cause: new Error(says) });
          return blobs.put(content);
        },
      },
    },
  });
  const { address, namespace } = testTemporal();
  temporal = new Client({ connection: await Connection.connect({ address }), namespace });
  const stored = {
    N: { value: `plain-${PIECE}-name` },
    V: { value: samples.value },
    F: { file: samples.file },
    S: { ssh: samples.ssh },
    A: { api: samples.api },
  };
  for (const [name, body] of Object.entries(stored)) {
    expect((await app.put('/api/secrets', { name, ...body })).status).toBe(200);
  }
});
afterAll(async () => {
  await temporal.connection.close();
  await provider.close();
});

function play(answers: readonly FakeAnswer[]): void {
  let at = 0;
  provider.respond(() => answers[Math.min(at++, answers.length - 1)] ?? {});
}

const bash = (command: string) => ({ name: 'Bash', args: { command } });
const tree = (secrets: string, body = '## One @worker\n\nDo it.', frontmatter = '') => ({
  'agents/worker.md': `---\nname: worker\ndescription: Works.\nsecrets: [${secrets}]\n---\n\nYou work.\n`,
  'flows/t.md': flow(body, frontmatter),
});

async function runIt(workspace: string) {
  const run = await app.ended(workspace, await app.start(workspace, 't'));
  const toldModel = provider.calls.map(({ prompt }) => prompt).join('\n');
  return { run, toldModel };
}

/** Nothing of any secret in what the service keeps, shows, logs, sends to models or to Temporal. */
async function expectNoLeak(workspace: string, runId: string): Promise<void> {
  expect(await tablesWith(app.deps.db, FORMS)).toEqual([]);
  expect(await filesWith(app.deps.config.dataDir, FORMS)).toEqual([]);
  const at = `/api/workspaces/${workspace}/runs/${runId}`;
  const shown = await Promise.all([
    ...[at, `${at}/events`, `${at}/stream`, `/api/secrets`].map(async (path) => (await app.get(path)).text()),
    ...(await closedHistoriesOf(temporal, runId)).map(async (history) => textOfHistory(historyToJSON(history))),
    JSON.stringify(lines, (_key, value: unknown) =>
      value instanceof Error ? [value.message, value.stack, value.cause] : value,
    ),
    provider.calls.map(({ prompt }) => prompt).join('\n'),
  ]);
  expect(shown.length).toBeGreaterThanOrEqual(7);
  for (const form of FORMS)
    for (const text of shown) expect(text.includes(form), `${form} in ${text.slice(0, 200)}`).toBe(false);
}

/** Says each secret in every way that programs know, on both outputs, in files of all folders and in their names; then fails. */
const SAY_IT_ALL = `python3 - <<'END'
import base64, json, os, sys, time, urllib.parse
os.makedirs('outputs/deep', exist_ok=True)
for name in ['V', 'F', 'A', 'O', 'G']:
    value = os.environ[name]
    if value.startswith('/run/secrets/'): value = open(value).read()
    raw = value.encode()
    said = [value, raw.hex(), raw.hex().upper(), urllib.parse.quote(value), urllib.parse.quote(value, safe=''), urllib.parse.quote_plus(value)]
    said += [json.dumps(value), json.dumps(value, ensure_ascii=False), repr(value)]
    for before in ['', 'a', 'ab']:
        said += [base64.b64encode(before.encode() + raw).decode(), base64.urlsafe_b64encode(before.encode() + raw + b'zz').decode()]
        said += [base64.encodebytes(before.encode() + raw * 3).decode()]
    print('\\n'.join(said))
    print(' '.join(said), file=sys.stderr)
    for sign in value:
        sys.stdout.write(sign); sys.stdout.flush()
    for path in ['outputs/' + name, 'files/' + name, 'outputs/deep/' + name, 'scratch-' + name]:
        open(path, 'w').write('\\n'.join(said))
open('outputs/' + os.environ['N'], 'w').write('x')
sys.exit(3)
END`;

test('security 18: a canary that programs print, encode, write, name files by and fail with is nowhere', async () => {
  const tokens = await startOAuthProvider();
  const live = (form: Readonly<Record<string, string>>) => `${form.grant_type?.slice(-6)}-${PIECE}-token`;
  tokens.answer(
    (form) => ({ status: 200, body: { access_token: live(form), token_type: 'Bearer', expires_in: 3_600 } }),
    'always',
  );
  const exchanged = {
    O: { oauth2: { ...samples.oauth2, token_url: tokens.tokenUrl } },
    G: { service_account: { ...samples.service_account, token_uri: tokens.tokenUrl } },
  };
  for (const [name, body] of Object.entries(exchanged)) await app.put('/api/secrets', { name, ...body });
  play([
    { calls: [bash(SAY_IT_ALL), bash('env; cat /run/secrets/*/*; ls -la /run/secrets')] },
    {
      calls: [
        { name: 'Read', args: { path: 'outputs/V' } },
        { name: 'Grep', args: { pattern: 'pelican' } },
        { name: 'Glob', args: { pattern: '**' } },
      ],
    },
    { calls: [{ name: 'save_to_storage', args: { path: 'storage/kept.txt', from: 'files/A' } }] },
    // A model that was told it elsewhere.
    { text: `It is ${CANARY}, or ${Buffer.from(CANARY).toString('base64')}.` },
  ]);
  const workspace = await app.workspace({
    ...tree('V'),
    'agents/worker.md':
      '---\nname: worker\ndescription: Works.\nsecrets: [V, F, A, S, N, O, G]\ntools: [Bash, Read, Grep, Glob, save_to_storage]\n---\n\nYou work.\n',
  });
  const { run, toldModel } = await runIt(workspace);
  expect(run.error).toBe(null);
  expect(run.steps[0]?.result).toBe('It is [secret V], or [secret V].');
  for (const name of ['V', 'F', 'A', 'O', 'G', 'N']) expect(toldModel).toContain(`[secret ${name}]`);
  await expectNoLeak(workspace, run.id);
});

test('security 18: a canary that an answer streams in pieces is in no delta', async () => {
  const words = 'some words '.repeat(12);
  play([{ text: `${words}${CANARY} ${words}`, eventDelayMs: 40 }]);
  const workspace = await app.workspace(tree('V'));
  const id = await app.start(workspace, 't');
  const streamed = await (await app.get(`/api/workspaces/${workspace}/runs/${id}/stream`)).text();
  const deltas = [...streamed.matchAll(/event: delta\ndata: (.*)/g)].map(
    ([, data = '']) => JSON.parse(data) as { text: string },
  );
  expect(deltas.length).toBeGreaterThan(1);
  expect(deltas.map(({ text }) => text).join('')).toBe(`${words}[secret V] ${words}`);
  await expectNoLeak(workspace, id);
});

test('a model is told the names of its secrets and what stands behind each, and no value', async () => {
  play([{ text: 'done' }]);
  await runIt(await app.workspace(tree('V, F, A, S')));
  const system = String(provider.calls.at(-1)?.body.messages[0].content);
  expect(system).toMatch(/- V: the value$/);
  for (const line of ['- F: the path of a file', '- A: the key', '- S: the path of a public key'])
    expect(system).toContain(line);
});

test('the run’s trace says which vault each secret came from, and nothing of what it is', async () => {
  play([{ calls: [bash('echo "$V" "$W"')] }, { text: 'done' }]);
  const workspace = await app.workspace(tree('V, W'));
  await app.put('/api/secrets', { name: 'W', value: 'of-the-account-4711' });
  await app.put('/api/secrets', { name: 'W', workspace, value: 'of-the-workspace-4711' });
  const { run } = await runIt(workspace);
  const told = run.steps[0]?.trace.filter(({ kind }) => kind === 'secret.resolved');
  expect(told?.map(({ text, name, store }) => [text, name, store])).toEqual([
    ['secret V from the account’s vault', 'V', 'account'],
    ['secret W from the workspace’s vault', 'W', 'workspace'],
  ]);
  const said = provider.calls.at(-1)?.body.messages.find(({ role }: { role: string }) => role === 'tool').content;
  expect(said).toBe('[secret V] [secret W]\n');
});

test('a step gets what its agent, the step and the flow name, and no other step does', async () => {
  play([
    { calls: [bash('echo "V=$V A=$A F=$F"; cat "$F" > scratch.txt')] },
    { text: 'one' },
    { calls: [bash('echo "V=$V A=$A F=$F"; cat scratch.txt')] },
    { text: 'two' },
  ]);
  const both = '## One @worker\n\n- secrets: [F]\n\nDo it.\n\n## Two @worker\n\nDo it.';
  const workspace = await app.workspace(tree('V', both, 'secrets: [A]\n'));
  const before = provider.calls.length;
  const { run } = await runIt(workspace);
  expect(run.error).toBe(null);
  const results = provider.calls
    .slice(before)
    .flatMap(({ body }) =>
      body.messages
        .filter(({ role }: { role: string }) => role === 'tool')
        .map(({ content }: { content: string }) => content),
    );
  expect(results[0]).toBe('V=[secret V] A=[secret A] F=/run/secrets/F/shop.conf\n');
  // What another step's program left in the lane's folder is not told either.
  expect(results.at(-1)).toBe('V=[secret V] A=[secret A] F=\n[secret F]');
  await expectNoLeak(workspace, run.id);
});

test('a token that cannot be had is told to the model by the secret’s name, and tells nothing of the secret', async () => {
  const gone = await startOAuthProvider();
  gone.answer(
    () => ({ status: 400, body: { error: 'invalid_grant', error_description: `no ${CANARY}-refresh` } }),
    'always',
  );
  play([{ calls: [bash('echo "$GONE"')] }, { text: 'without' }]);
  const workspace = await app.workspace(tree('GONE'));
  await app.put('/api/secrets', { name: 'GONE', workspace, oauth2: { ...samples.oauth2, token_url: gone.tokenUrl } });
  const { run } = await runIt(workspace);
  expect(run.steps[0]?.result).toBe('without');
  const said = provider.calls.at(-1)?.body.messages.find(({ role }: { role: string }) => role === 'tool').content;
  expect(said).toMatch(/^the connection GONE must be made again/);
  await expectNoLeak(workspace, run.id);
  const { secrets } = (await (await app.get(`/api/secrets?workspace=${workspace}`)).json()) as { secrets: object[] };
  expect(secrets).toEqual([expect.objectContaining({ name: 'GONE', status: 'reconnect' })]);
});

test('a step that names a secret which no vault holds fails at once, says where to put it, and works once it is there', async () => {
  play([{ text: 'it works' }]);
  const workspace = await app.workspace(tree('V, NOWHERE'));
  const before = provider.calls.length;
  const { run } = await runIt(workspace);
  expect(run.error).toContain("the secret NOWHERE is in no vault in reach: store it in this workspace's vault");
  expect(run.error).toContain('PUT /api/secrets');
  expect(provider.calls.length, 'no model was asked').toBe(before);
  await app.put('/api/secrets', { name: 'NOWHERE', workspace, value: 'now-it-is-there' });
  expect((await runIt(workspace)).run).toMatchObject({ status: 'completed', error: null });
});

test('a secret that cannot be opened fails the step by its name', async () => {
  const workspace = await app.workspace(tree('BROKEN'));
  await app.put('/api/secrets', { name: 'BROKEN', workspace, value: 'soon-to-be-broken' });
  await app.deps.db.query(
    `UPDATE secret SET sealed = set_byte(sealed, 20, get_byte(sealed, 20) # 1) WHERE name = 'BROKEN'`,
  );
  expect((await runIt(workspace)).run.error).toContain('the secret BROKEN cannot be decrypted');
});

describe('security 18: what fails tells no secret', () => {
  test('a provider that repeats it in its error', async () => {
    play([
      { calls: [bash('true')] },
      { status: 400, body: JSON.stringify({ error: { message: `bad text ${CANARY}` } }) },
    ]);
    const workspace = await app.workspace(tree('V'));
    const { run } = await runIt(workspace);
    expect(run.error).toContain('[secret V]');
    await expectNoLeak(workspace, run.id);
  });

  test('an answer that does not fit, repeated in the step’s error', async () => {
    play([{ text: `no JSON but ${CANARY}` }]);
    const workspace = await app.workspace(tree('V', '## One @worker\n\n- output: json\n\nDo it.'));
    const { run } = await runIt(workspace);
    expect(run.status).toBe('failed');
    await expectNoLeak(workspace, run.id);
  });

  test('an activity that breaks with it: its failure is in Temporal’s history, and in the log', async () => {
    play([{ calls: [{ name: 'Write', args: { path: 'outputs/x.txt', content: 'x' } }] }, { text: 'done' }]);
    const workspace = await app.workspace(tree('V'));
    // A local first advance has no failure in the history.
    await app.restartWorker({ startsLocally: false });
    broken.push(`the disk said ${CANARY}`);
    const { run } = await runIt(workspace);
    expect(run.status).toBe('completed');
    const logged = lines.filter((line) => 'message' in line && line.message === 'an advance failed');
    expect(logged.length).toBeGreaterThan(0);
    expect(String((logged.at(-1) as { err?: Error }).err?.message)).toBe('the disk said [secret V]');
    const histories = await closedHistoriesOf(temporal, run.id);
    expect(histories.map((one) => textOfHistory(historyToJSON(one))).join('\n')).toContain('the disk said [secret V]');
    await expectNoLeak(workspace, run.id);
    await app.restartWorker({});
  });

  test('a local first advance that breaks with it: its failure is in the log', async () => {
    play([{ calls: [{ name: 'Write', args: { path: 'outputs/x.txt', content: 'x' } }] }, { text: 'done' }]);
    const workspace = await app.workspace(tree('V'));
    const logged = () => lines.filter((line) => 'message' in line && line.message === 'an advance failed');
    const before = logged().length;
    broken.push(`the disk said ${CANARY}`);
    const { run } = await runIt(workspace);
    expect(run.status).toBe('completed');
    expect(
      logged()
        .slice(before)
        .map((line) => String((line as { err?: Error }).err?.message)),
    ).toEqual(['the disk said [secret V]']);
    await expectNoLeak(workspace, run.id);
  });
});

test('an ssh key signs for git and ssh in the sandbox, and is not in it', async () => {
  const tell = 'ssh-add -L; cat "$S"; ls -la /run/secrets; env; cat /run/secrets/known_hosts';
  const sign =
    'echo text > signed && ssh-keygen -q -Y sign -f "$S" -n file signed && echo "me $(cat "$S")" > allowed && ssh-keygen -Y verify -f allowed -I me -n file -s signed.sig < signed';
  const commit =
    'export GIT_CONFIG_COUNT=3 GIT_CONFIG_KEY_0=gpg.format GIT_CONFIG_VALUE_0=ssh GIT_CONFIG_KEY_1=user.signingkey GIT_CONFIG_VALUE_1="$S" GIT_CONFIG_KEY_2=gpg.ssh.allowedSignersFile GIT_CONFIG_VALUE_2=/work/allowed; git init -q repo && cd repo && git -c user.name=me -c user.email=me commit -q --allow-empty -S -m signed && git verify-commit HEAD';
  const take = 'ssh-add -D; ssh-add -x; ssh-add -d "$S"; ssh-add -l';
  play([
    { calls: [bash(tell)] },
    { calls: [bash(sign)] },
    { calls: [bash(commit)] },
    { calls: [bash(take)] },
    { text: 'done' },
  ]);
  const workspace = await app.workspace(tree('S'));
  const before = provider.calls.length;
  const { run } = await runIt(workspace);
  expect(run.error).toBe(null);
  const last = provider.calls
    .slice(before)
    .at(-1)
    ?.body.messages.filter(({ role }: { role: string }) => role === 'tool');
  const said = last.map(({ content }: { content: string }) => content);
  expect(said[0]).toMatch(/^(ecdsa-sha2-nistp256 \S+ S\n){2}/);
  expect(said[0]).toContain('SSH_AUTH_SOCK=/run/secrets/ssh-agent');
  expect(said[0]).toContain('git.example ssh-ed25519 AAAA');
  expect(said[1]).toMatch(/Good "file" signature for me/);
  expect(said[2]).toMatch(/Good "git" signature for me/);
  expect(said[3]).toMatch(/256 SHA256:\S+ S \(ECDSA\)/);
  await expectNoLeak(workspace, run.id);
  expect(await filesWith(app.deps.config.dataDir, ['BEGIN EC PRIVATE KEY'])).toEqual([]);
});

test('security 18: an install key is changed with runs in flight: they go on, and the links that the old one signed are dead', async () => {
  const waits = '## One @worker\n\nDo it.\n\n## Wait\n\n- wait: event\n\n## Two @worker\n\nDo it.';
  const workspace = await app.workspace(tree('V', waits));
  play([{ calls: [bash('echo "one $V"')] }, { text: 'one' }]);
  const id = await app.start(workspace, 't');
  const parked = await app.until(workspace, id, ({ waiting }) => waiting.length > 0);
  const oldLink = new URL(parked.waiting[0]?.releaseUrl ?? '');
  const k2 = key('k2');
  // Every process is started anew with the new key in front, the secrets are wrapped anew, the old key is taken out.
  Object.assign(keys, ringOf(k2, k1));
  const post = (to: URL) => app.post(`${to.pathname}${to.search}`, { parcel: 'here' }, { as: null });
  expect((await post(oldLink)).status).toBe(401);
  expect(await rotateKeys(app.deps.db, keys)).toMatchObject({ stuck: [] });
  const both = await app.run(workspace, id);
  Object.assign(keys, ringOf(k2));
  const link = new URL((await app.run(workspace, id)).waiting[0]?.releaseUrl ?? '');
  expect(both.waiting[0]?.releaseUrl).toBe(link.href);
  expect((await post(oldLink)).status).toBe(401);
  play([{ calls: [bash('echo "two $V"')] }, { text: 'two' }]);
  expect((await post(link)).status).toBe(200);
  const run = await app.ended(workspace, id);
  expect(run).toMatchObject({ status: 'completed', error: null });
  const said = provider.calls.at(-1)?.body.messages.find(({ role }: { role: string }) => role === 'tool').content;
  expect(said).toBe('two [secret V]\n');
  await expectNoLeak(workspace, id);
});
