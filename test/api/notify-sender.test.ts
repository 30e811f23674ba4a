import { expect, onTestFinished, test } from 'vitest';
import { createSender } from '../../src/notify/sender.js';
import { createNet } from '../../src/platform/net/index.js';
import { newId } from '../../src/shared/ids.js';
import { createTenant, createTestApp } from '../support/create-test-app.js';
import { startLocalServer } from '../support/local-server.js';
import { type MailServer, startMailServer } from '../support/mail-server.js';

const mailsTo = ({ mails }: MailServer, address: string) =>
  mails.filter(({ recipients }) => recipients.includes(address));

test('a receiver that does not answer holds up itself alone, and an account of them no other account', async () => {
  const held: (() => void)[] = [];
  const silent = await startLocalServer((_request, response) => {
    held.push(() => response.writeHead(204).end());
  });
  const mail = await startMailServer();
  const { deps } = await createTestApp({ routes: [] });
  const config = {
    ...deps.config,
    email: { ...deps.config.email, from: 'Signalbox <box@box.example>', smtpUrl: mail.url },
    allowHosts: [{ host: '127.0.0.1', port: null }],
  };
  const ours = { ...deps, config, net: createNet({ config }) };
  const [mine, other] = [await createTenant(deps), await createTenant(deps)];
  const content = JSON.stringify({
    event: 'test',
    account: 'a',
    workspace: null,
    run: null,
    subject: 's',
    summary: 's',
    text: null,
    due: null,
  });
  const put = (tenant: string, channel: string, targets: readonly string[]) =>
    deps.db.query(
      `INSERT INTO notification (id, tenant_id, event, channel, target, content)
        SELECT $1 || lpad(place::text, 4, '0'), $2, 'test', $3, target, $4 FROM unnest($5::text[]) WITH ORDINALITY AS t (target, place)`,
      [newId().slice(0, 22), tenant, channel, content, targets],
    );
  const places = (count: number, path: (n: number) => string) =>
    Array.from({ length: count }, (_, n) => `${silent.url}/${path(n)}`);
  await put(other.tenant, 'post', [...places(40, () => 'same'), ...places(40, String)]);
  await put(other.tenant, 'mail', ['kept-waiting@x.test']);
  await put(
    mine.tenant,
    'post',
    places(40, () => 'same'),
  );
  await put(mine.tenant, 'mail', ['not-held-up@x.test']);

  const sender = createSender(ours);
  const stop = new AbortController();
  onTestFinished(async () => {
    stop.abort();
    await sender.idle();
  });
  await sender.start(stop.signal);
  await expect.poll(() => mailsTo(mail, 'not-held-up@x.test').length).toBe(1);
  // Eight of one account, and two to one address in all.
  await expect.poll(() => held.length).toBe(8);
  expect(silent.requests.filter(({ path }) => path === '/same')).toHaveLength(2);
  expect(mailsTo(mail, 'kept-waiting@x.test')).toEqual([]);
  for (let at = 0; at < 120; at += 1) {
    await expect.poll(() => held.length).toBeGreaterThan(at);
    held[at]?.();
  }
  await sender.idle();
  expect(mailsTo(mail, 'kept-waiting@x.test')).toHaveLength(1);
  const left = await deps.db.query(`SELECT 1 FROM notification WHERE state = 'pending' AND tenant_id = ANY($1)`, [
    [other.tenant, mine.tenant],
  ]);
  expect(left).toEqual([]);
});
