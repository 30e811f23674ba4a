import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { routes } from '../../src/api/routes/index.js';
import type { Workflows } from '../../src/platform/temporal/contract.js';
import { hooked, hookOf, runsOf, type Sent, send } from '../support/hooks.js';
import { AGENT, bodyOf, createWorkspaceApp, type WorkspaceApp } from '../support/workspace-app.js';

let app: WorkspaceApp;
beforeAll(async () => {
  const workflows = new Proxy({} as Workflows, { get: () => () => Promise.reject(new Error('Temporal is away')) });
  app = await createWorkspaceApp({ routes, deps: { workflows } });
});

describe('mail', () => {
  const MAIL = { from: 'Ada <ada@acme.test>', to: 'in@x.test', subject: 'Hi', text: 'Hello\0', html: '' };
  const id = (value: string) => ({ headers: { 'Message-ID': value, 'X-Api-Token': 'theirs' } });

  async function inbox(more = '') {
    const { name } = await app.workspace({
      'agents/writer.md': AGENT,
      'flows/hooked.md': hooked(`trigger: email\n${more}`),
    });
    const { inboxUrl, hookUrl } = await hookOf(app, name);
    return {
      name,
      hookUrl,
      inboxUrl,
      send: (body: unknown, sent?: Sent) => send(app, inboxUrl, body, sent),
      runs: () => runsOf(app, name),
      deliveries: async () => (await bodyOf(app.get(`/api/workspaces/${name}/hooks/hooked/deliveries`))).deliveries,
    };
  }

  test('is the run’s input, once a Message-ID, and From is no more than what it says', async () => {
    const box = await inbox();
    const [status, answer] = await box.send({ ...MAIL, ...id('<1@acme.test>') });
    const again = await box.send({ data: { ...MAIL, text: 'other', ...id('<1@acme.test>') } });
    const [run, ...more] = await box.runs();
    expect([status, answer, more]).toEqual([202, { ok: true, runId: run?.id }, []]);
    expect(again).toEqual([202, { ok: true, runId: run?.id, duplicate: true }]);
    expect(run?.input).toEqual({ ...MAIL, text: 'Hello\uFFFD', attachments: [] });
    expect(run?.trigger).toMatchObject({ kind: 'email', from: 'ada@acme.test', deliveryId: '<1@acme.test>' });
    expect(JSON.stringify(run?.trigger)).not.toContain('theirs');
    expect(run?.startedBy).toEqual({ kind: 'event', id: 'email', label: 'email', person: null });
  });

  test('brings its files to files/inbox/, each mail in a folder of its own', async () => {
    const box = await inbox();
    const body = () => {
      const form = new FormData();
      for (const [name, value] of Object.entries(MAIL)) form.append(name, value);
      form.append('attachment1', new File(['hi'], '../../a.txt', { type: 'text/plain' }));
      return form;
    };
    for (const _ of [1, 2])
      expect((await app.request(box.inboxUrl, { as: null, method: 'POST', body: body() })).status).toBe(202);
    const files = (await box.runs()).flatMap(
      ({ input }) => (input as { attachments: { path: string; name: string; size: number }[] }).attachments,
    );
    expect(files).toMatchObject([{ name: 'a.txt', size: 2, type: 'text/plain' }, { name: 'a.txt' }]);
    expect(new Set(files.map(({ path }) => path)).size).toBe(2);
    const rows = await app.deps.db.query<{ path: string; sha: string }>(
      'SELECT e.path, e.sha FROM storage_entry e JOIN workspace w ON w.id = e.workspace_id WHERE w.name = $1 ORDER BY path',
      [box.name],
    );
    expect(rows.map(({ path }) => path)).toEqual(files.map(({ path }) => path).sort());
    expect(Buffer.from((await app.deps.blobs.get(rows[0]?.sha ?? '')) ?? []).toString()).toBe('hi');
  });

  test('is taken without a file that is none, and says so in its delivery and its run', async () => {
    const box = await inbox();
    const attachments = [
      { filename: 'good.txt', content: 'aGk=' },
      { filename: 'bad\0.txt', content: 'no base64!' },
      { filename: 'link.txt', url: 'https://acme.test/link.txt' },
    ];
    expect((await box.send({ ...MAIL, attachments }))[0]).toBe(202);
    const leftOut = [
      'attachment bad\uFFFD.txt was left out: its content is not base64',
      'attachment link.txt was left out: it has no content, and no link is followed',
    ];
    const [run] = await box.runs();
    expect(run?.input).toMatchObject({ attachments: [{ name: 'good.txt', size: 2 }] });
    expect(run?.trigger.leftOut).toEqual(leftOut);
    expect(await box.deliveries()).toMatchObject([{ outcome: 'started', detail: leftOut.join('; ') }]);
  });

  test('without a part that can be read starts nothing: it is 422, and among the deliveries with its fields', async () => {
    const box = await inbox();
    const [status, answer] = await box.send({ from: MAIL.from, subject: 'Hi', Inhalt: 'Hallo' });
    expect([status, answer]).toEqual([422, { error: expect.any(String), code: 'mail/unreadable' }]);
    expect(await box.runs()).toEqual([]);
    expect(await box.deliveries()).toMatchObject([
      { outcome: 'refused', detail: expect.stringContaining('its fields are from, subject, Inhalt') },
    ]);
  });

  test('of one request may be several: each starts a run once, and one that cannot be read holds up none', async () => {
    const box = await inbox();
    const mail = (id: string, more: object) => ({
      event: 'inbound',
      msg: { from_email: 'ada@acme.test', headers: { 'Message-Id': id }, ...more },
    });
    const body = JSON.stringify({
      mandrill_events: [mail('<1@x>', { text: 'one' }), mail('<2@x>', {}), mail('<3@x>', { text: 'three' })],
    });
    const [status, answer] = await box.send(body);
    const runs = await box.runs();
    expect(runs.map(({ input }) => (input as { text: string }).text).sort()).toEqual(['one', 'three']);
    expect([status, answer]).toEqual([
      202,
      {
        ok: true,
        mails: [
          { ok: true, runId: expect.any(String) },
          { ok: true, runId: expect.any(String) },
        ],
      },
    ]);
    expect((await box.deliveries()).map(({ outcome }: { outcome: string }) => outcome)).toEqual([
      'started',
      'refused',
      'started',
    ]);
    expect((await box.send(body))[1]).toMatchObject({ mails: [{ duplicate: true }, { duplicate: true }] });
    expect(await box.runs()).toHaveLength(2);
    expect(await box.send('{"mandrill_events":"[]"}')).toEqual([200, { ok: true, filtered: true }]);
  });

  test('is deduplicated and kept from looping by headers in any spelling', async () => {
    const box = await inbox();
    const sent = (id: string, more: object = {}) => ({
      headers: { message_id: id, from: MAIL.from, ...more },
      plain: 'Hello',
    });
    expect((await box.send(sent('<1@acme.test>')))[0]).toBe(202);
    expect((await box.send(sent('<1@acme.test>')))[1]).toMatchObject({ duplicate: true });
    expect(await box.send(sent('<2@acme.test>', { auto_submitted: 'auto-replied' }))).toEqual([
      200,
      { ok: true, filtered: true },
    ]);
    expect(await box.runs()).toMatchObject([{ input: { text: 'Hello' }, trigger: { deliveryId: '<1@acme.test>' } }]);
  });

  test('that is refused or comes twice stores no file; one left out by its concurrency has its files when it is made again', async () => {
    const box = await inbox("concurrency: { limit: 1, on_limit: skip }\nfilter: input.subject != 'no'");
    const file = (text: string) => [{ filename: 'a.txt', content: Buffer.from(text).toString('base64') }];
    const has = (text: string) => app.deps.blobs.has(createHash('sha256').update(text).digest('hex'));
    const again = (one: { id: string }) =>
      app.post(`/api/workspaces/${box.name}/hooks/hooked/deliveries/${one.id}/redeliver`);
    const texts = ['kept', 'repeated', 'left out', 'filtered', 'refused'].map((text) => `${text} ${box.name}`);
    const [kept = '', repeated = '', leftOut = '', filtered = '', refused = ''] = texts;
    expect((await box.send({ ...MAIL, ...id('<1@acme.test>'), attachments: file(kept) }))[0]).toBe(202);
    const twice = await box.send({ ...MAIL, ...id('<1@acme.test>'), attachments: file(repeated) });
    expect(twice[1]).toMatchObject({ duplicate: true });
    expect((await box.send({ ...MAIL, attachments: file(leftOut) }))[1]).toEqual({ ok: true, skipped: true });
    expect((await box.send({ ...MAIL, subject: 'no', attachments: file(filtered) }))[1]).toMatchObject({
      filtered: true,
    });
    await app.deps.db.query(
      `INSERT INTO usage (tenant_id, workspace_id, run_id, step, meter, nano, source)
        SELECT tenant_id, id, 'r', 's', 'model', 20000000, 'test' FROM workspace WHERE name = $1`,
      [box.name],
    );
    await app.patch(`/api/workspaces/${box.name}`, { budget: 0.01 });
    expect((await box.send({ ...MAIL, attachments: file(refused) }))[0]).toBe(402);
    expect(await Promise.all(texts.map(has))).toEqual([true, false, true, false, false]);
    await app.patch(`/api/workspaces/${box.name}`, { budget: null });
    await app.deps.db.query('UPDATE run SET finished_at = now() WHERE id = ANY($1)', [
      (await box.runs()).map((run) => run.id),
    ]);
    await app.deps.db.query('DELETE FROM slot WHERE run_id = ANY($1)', [(await box.runs()).map((run) => run.id)]);
    const [no, left, skipped] = await box.deliveries();
    expect([(await again(no)).status, (await again(left)).status, (await again(skipped)).status]).toEqual([
      409, 409, 202,
    ]);
    const paths = (await box.runs()).map(
      ({ input }) => (input as { attachments: { path: string }[] }).attachments[0]?.path,
    );
    const entries = await app.deps.db.query<{ path: string }>(
      'SELECT e.path FROM storage_entry e JOIN workspace w ON w.id = e.workspace_id WHERE w.name = $1 ORDER BY path',
      [box.name],
    );
    expect(entries.map(({ path }) => path)).toEqual(paths.sort());
  });

  test('may be raw: as itself or in an inbound parser’s form, once a Message-ID, with its files', async () => {
    const box = await inbox("from: ['@acme.test']");
    const mail = [
      ...['From: Ada <ada@acme.test>', 'To: in@x.test', 'Subject: =?utf-8?q?H=C3=A9?=', 'Message-ID: <raw@acme.test>'],
      ...['MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=x', '', '--x', '', 'Hello', '--x'],
      ...['Content-Type: text/csv', 'Content-Transfer-Encoding: base64'],
      ...[
        'Content-Disposition: attachment; filename="../../a.csv"',
        '',
        Buffer.from('1,2').toString('base64'),
        '--x--',
        '',
      ],
    ].join('\r\n');
    const [status, answer] = await box.send(mail, { type: 'message/rfc822' });
    const form = new FormData();
    for (const [name, value] of Object.entries({ email: mail, envelope: '{"from":"ada@acme.test"}', to: 'in@x.test' }))
      form.append(name, value);
    const again = await app.request(box.inboxUrl, { as: null, method: 'POST', body: form });
    const [run, ...more] = await box.runs();
    expect([status, answer, again.status, await again.json(), more]).toEqual([
      ...[202, { ok: true, runId: run?.id }, 202, { ok: true, runId: run?.id, duplicate: true }, []],
    ]);
    expect(run?.input).toMatchObject({
      ...{ from: '"Ada" <ada@acme.test>', to: 'in@x.test', subject: 'Hé', text: 'Hello', html: '' },
      attachments: [
        { name: 'a.csv', type: 'text/csv', size: 3, path: expect.stringMatching(/^files\/inbox\/\w+\/a\.csv$/) },
      ],
    });
    expect(run?.trigger).toMatchObject({ kind: 'email', from: 'ada@acme.test', deliveryId: '<raw@acme.test>' });
    const other = mail.replace('From: Ada <ada@acme.test>', 'From: evil@x.test\r\nFrom: ada@acme.test');
    expect(await box.send(other, { type: 'message/rfc822' })).toEqual([200, { ok: true, filtered: true }]);
    const automatic = `Auto-Submitted: auto-replied\r\n${mail}`;
    expect(await box.send(automatic, { type: 'message/rfc822' })).toEqual([200, { ok: true, filtered: true }]);
    for (const [bad, said] of [
      ['', 'no from'],
      [`${'X: y\r\n'.repeat(20_000)}\r\n`, 'cannot be read: Max header size'],
      [
        `Content-Type: multipart/mixed; boundary=x\r\n\r\n${'--x\r\n\r\na\r\n'.repeat(100)}`,
        'cannot be read: Max allowed child',
      ],
      [`From: a@acme.test\r\n\r\n${'\n'.repeat(600_000)}`, 'more than 500000 lines'],
    ] as const)
      expect(await box.send(bad, { type: 'message/rfc822' })).toMatchObject([
        422,
        { error: expect.stringContaining(said) },
      ]);
    expect((await box.deliveries()).slice(0, 4).map(({ outcome }: { outcome: string }) => outcome)).toEqual(
      Array.from({ length: 4 }, () => 'refused'),
    );
    expect(await box.runs()).toHaveLength(1);
  });

  test('of a loop and of others starts nothing, is taken, and told to the admin', async () => {
    const box = await inbox("from: ['@acme.test']");
    const left = [200, { ok: true, filtered: true }];
    expect(await box.send({ ...MAIL, headers: { 'Auto-Submitted': 'auto-replied' } })).toEqual(left);
    expect(await box.send({ ...MAIL, from: '"ada@acme.test" <evil@x.test>' })).toEqual(left);
    expect((await box.send(MAIL))[0]).toBe(202);
    expect((await box.deliveries()).map((one: { outcome: string }) => one.outcome)).toEqual([
      'started',
      'filtered',
      'loop',
    ]);
  });

  test('asks for the same token as the hook, and for the trigger', async () => {
    const box = await inbox();
    expect(await send(app, `${box.inboxUrl}x`, MAIL)).toEqual([
      401,
      { error: 'the token is not valid here', code: 'unauthenticated' },
    ]);
    expect((await send(app, box.hookUrl, MAIL))[0]).toBe(409);
    expect((await box.send('{'))[0]).toBe(400);
    const files = { 'agents/writer.md': AGENT, 'flows/hooked.md': hooked('trigger: webhook') };
    await app.deploy(box.name, files);
    expect((await box.send(MAIL))[0]).toBe(409);
    expect(await box.runs()).toEqual([]);
  });
});
