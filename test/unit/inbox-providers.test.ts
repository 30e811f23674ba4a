import { describe, expect, test } from 'vitest';
import { openMails, readMail } from '../../src/triggers/inbox/read-mail.js';
import { loopOf } from '../../src/triggers/inbox/receive-mail.js';
import { B64, json, mandrill, PROVIDERS, sns, urlencoded } from '../support/mail-shapes.js';

describe('the mail of each provider is read whole', () => {
  test.each(PROVIDERS)('%s', async (_name, sent) => {
    const mails = await openMails(await sent());
    expect(mails).toHaveLength(1);
    const mail = await readMail(await sent());
    expect(mail).toMatchObject({ to: 'in@x.test', subject: 'Hi', unread: null, leftOut: [] });
    expect(mail.from).toMatch(/^("Ada" <ada@acme\.test>|ada@acme\.test)$/);
    expect([mail.text.trim(), mail.html.trim()]).toEqual(['Hello', '<p>Hello</p>']);
    expect(mail.headers['message-id'] ?? mail.providerId).toBe('<1@acme.test>');
    expect(mail.attachments.map(({ name, type, content }) => [name, type, Buffer.from(content).toString()])).toEqual([
      ['a.csv', 'text/csv', '1,2'],
    ]);
    expect(loopOf(mail, null)).toBeNull();
  });
});

describe('headers are found in every form and spelling', () => {
  const mail = { from: 'a@b.test', plain: 'x' };
  test.each<[string, Record<string, unknown>]>([
    ['an object in lower case with underscores', { headers: { message_id: '<1@x>', auto_submitted: 'auto-replied' } }],
    ['an object in capitals', { Headers: { 'MESSAGE-ID': '<1@x>', 'AUTO-SUBMITTED': 'auto-replied' } }],
    ['JSON in a text', { headers: '{"message-id":"<1@x>","Auto-Submitted":"auto-replied"}' }],
    [
      'names and values',
      {
        headers: [
          ['Message-Id', '<1@x>'],
          ['AUTO_SUBMITTED', ['auto-replied']],
        ],
      },
    ],
    [
      'keys and values',
      {
        headers: [
          { key: 'message-id', value: '<1@x>' },
          { key: 'auto-submitted', value: 'auto-replied' },
        ],
      },
    ],
    ['objects of one', { headers: [{ 'Message-Id': '<1@x>' }, { 'Auto-Submitted': 'auto-replied' }] }],
    [
      'lines of a parser',
      {
        headerLines: [
          { key: 'message-id', line: 'Message-ID: <1@x>' },
          { key: 'x', line: 'Auto-Submitted: auto-replied' },
        ],
      },
    ],
    ['fields of the mail', { 'message-id': '<1@x>', auto_submitted: 'auto-replied' }],
  ])('%s', async (_name, headers) => {
    const read = await readMail(json({ ...mail, ...headers }));
    expect(read.headers).toMatchObject({ 'message-id': '<1@x>', 'auto-submitted': 'auto-replied' });
    expect(loopOf(read, null)).toContain('auto-replied');
  });
});

test('several mails of one request are each read, and an empty list is none', async () => {
  const two = urlencoded({
    mandrill_events: JSON.stringify([mandrill, { ...mandrill, msg: { ...mandrill.msg, subject: 'Two' } }]),
  });
  const mails = await Promise.all((await openMails(two)).map((read) => read()));
  expect(mails.map(({ subject }) => subject)).toEqual(['Hi', 'Two']);
  expect(await openMails(json([{ msys: {} }]))).toEqual([]);
  expect(await openMails(urlencoded({ mandrill_events: '[]' }))).toEqual([]);
  await expect(openMails(json(Array.from({ length: 101 }, () => ({ from: 'a@b.test' }))))).rejects.toThrow('101 mails');
});

test.each<[string, unknown, readonly string[] | null]>([
  [
    'a provider that sends no body',
    {
      type: 'email.received',
      data: { email_id: '1', from: 'a@b.test', attachments: [{ id: 'f', filename: 'a.csv' }] },
    },
    ['email_id', 'from', 'attachments'],
  ],
  ['fields of unknown names', { from: 'a@b.test', Inhalt: 'Hallo' }, ['from', 'Inhalt']],
  ['a mail without text', { from: 'a@b.test', text: '' }, null],
  ['a file alone', { from: 'a@b.test', attachments: [{ filename: 'a.csv', content: B64 }] }, null],
])('%s: what of it could not be read is known', async (_name, sent, unread) => {
  expect((await readMail(json(sent))).unread).toEqual(unread);
});

test('Amazon SNS asking to confirm a subscription is refused with the address to open', async () => {
  const { Message: _, ...envelope } = sns({});
  const ask = { ...envelope, Type: 'SubscriptionConfirmation', SubscribeURL: 'https://sns.example/confirm?Token=1' };
  await expect(openMails(json(ask, 'text/plain'))).rejects.toThrow('open https://sns.example/confirm?Token=1');
});

test('a mail with HTML alone has its text', async () => {
  const html = `<html><head><title>T</title><style>p{}</style></head><body><p>Dear &amp; dear,</p><ul><li>one</li><li>two&nbsp;too</li></ul>Bye<br>Ada<script>x()</script></body></html>`;
  const text = 'Dear & dear,\n\n- one\n- two too\n\nBye\nAda';
  expect(await readMail(json({ from: 'a@b.test', html }))).toMatchObject({ text, html });
  const raw = `From: a@b.test\r\nContent-Type: text/html; charset=utf-8\r\n\r\n${html}`;
  expect(await readMail({ type: 'message/rfc822', body: Buffer.from(raw) })).toMatchObject({ text });
  expect(await readMail(json({ from: 'a@b.test', text: 'own', html }))).toMatchObject({ text: 'own' });
  // Broken and huge ones end.
  const broken = await readMail(json({ from: 'a@b.test', html: `${'<div><b>'.repeat(100_000)}end` }));
  expect(broken.text).toBe('end');
});

test('a forwarded mail and an invitation keep their names, and get one where they have none', async () => {
  const part = (type: string, more: readonly string[], content: string) => [
    '--b',
    `Content-Type: ${type}`,
    ...more,
    '',
    content,
  ];
  const named = (name: string) => [`Content-Disposition: attachment; filename="${name}"`];
  const inner = 'From: n@b.test\r\nSubject: Re: the order\r\n\r\nInner';
  const raw = [
    ...['From: a@b.test', 'MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=b', ''],
    ...part('text/plain', [], 'Hello'),
    ...part('message/rfc822', named('fwd.eml'), inner),
    ...part('message/rfc822', [], inner),
    ...part('text/calendar; method=REQUEST', named('invite.ics'), 'BEGIN:VCALENDAR'),
    ...part('text/calendar; method=REQUEST', [], 'BEGIN:VCALENDAR'),
    '--b--',
    '',
  ].join('\r\n');
  const { attachments } = await readMail({ type: 'message/rfc822', body: Buffer.from(raw) });
  expect(attachments.map(({ name }) => name)).toEqual([
    'fwd.eml',
    'Re: the order.eml',
    'invite.ics',
    'attachment-4.ics',
  ]);
});
