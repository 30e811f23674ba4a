import { describe, expect, test } from 'vitest';
import { loopOf } from '../../src/triggers/inbox/loop.js';
import { openMails, readMail } from '../../src/triggers/inbox/read-mail.js';

/** Shapes of the providers' documentation, shortened. */
const json = (mail: unknown, type = 'application/json') => ({ type, body: Buffer.from(JSON.stringify(mail)) });

async function form(fields: Readonly<Record<string, string | File>>) {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  const response = new Response(data);
  return { type: response.headers.get('content-type') ?? '', body: new Uint8Array(await response.arrayBuffer()) };
}

const urlencoded = (fields: Readonly<Record<string, string>>) => ({
  type: 'application/x-www-form-urlencoded',
  body: Buffer.from(new URLSearchParams(fields).toString()),
});

const RAW = [
  ...['From: "Ada" <ada@acme.test>', 'To: in@x.test', 'Subject: Hi', 'Message-ID: <1@acme.test>', 'MIME-Version: 1.0'],
  ...['Content-Type: multipart/mixed; boundary=b', '', '--b', 'Content-Type: multipart/alternative; boundary=a', ''],
  ...[
    '--a',
    'Content-Type: text/plain; charset=utf-8',
    '',
    'Hello',
    '--a',
    'Content-Type: text/html; charset=utf-8',
    '',
  ],
  ...['<p>Hello</p>', '--a--', '--b', 'Content-Type: text/csv; name=a.csv'],
  ...['Content-Disposition: attachment; filename=a.csv', 'Content-Transfer-Encoding: base64', '', 'MSwy', '--b--', ''],
].join('\r\n');
const B64 = 'MSwy';
const HEADERS = { 'Message-ID': '<1@acme.test>', From: '"Ada" <ada@acme.test>', 'MIME-Version': '1.0' };
const listed = (names: readonly [string, string]) =>
  Object.entries(HEADERS).map(([name, value]) => ({ [names[0]]: name, [names[1]]: value }));

const postmark = {
  FromName: 'Ada',
  MessageStream: 'inbound',
  From: '"Ada" <ada@acme.test>',
  FromFull: { Email: 'ada@acme.test', Name: 'Ada', MailboxHash: '' },
  To: 'in@x.test',
  ToFull: [{ Email: 'in@x.test', Name: '', MailboxHash: '' }],
  OriginalRecipient: 'in@x.test',
  Subject: 'Hi',
  MessageID: '73e6d360-66eb-11e1-8e72-a8904824019b',
  TextBody: 'Hello',
  HtmlBody: '<p>Hello</p>',
  StrippedTextReply: 'Hello',
  Headers: listed(['Name', 'Value']),
  Attachments: [{ Name: 'a.csv', Content: B64, ContentType: 'text/csv', ContentLength: 3, ContentID: '' }],
};
const sendgrid = {
  headers: Object.entries(HEADERS)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join(''),
  dkim: '{@acme.test : pass}',
  to: 'in@x.test',
  from: '"Ada" <ada@acme.test>',
  subject: 'Hi',
  text: 'Hello',
  html: '<p>Hello</p>',
  sender_ip: '192.0.2.1',
  envelope: '{"to":["in@x.test"],"from":"ada@acme.test"}',
  attachments: '1',
  charsets: '{"to":"UTF-8","from":"UTF-8","subject":"UTF-8","text":"utf-8","html":"utf-8"}',
  'attachment-info': '{"attachment1":{"filename":"a.csv","type":"text/csv"}}',
  attachment1: new File(['1,2'], 'a.csv', { type: 'text/csv' }),
};
const mailgun = {
  recipient: 'in@x.test',
  sender: 'ada@acme.test',
  from: '"Ada" <ada@acme.test>',
  subject: 'Hi',
  'body-plain': 'Hello',
  'stripped-text': 'Hello',
  'body-html': '<p>Hello</p>',
  'message-headers': JSON.stringify(Object.entries(HEADERS)),
  'Message-Id': '<1@acme.test>',
  'attachment-count': '1',
  timestamp: '1700000000',
  token: 't',
  signature: 's',
  'attachment-1': new File(['1,2'], 'a.csv', { type: 'text/csv' }),
};
const ses = (content: string, encoding: 'UTF8' | 'BASE64') => ({
  notificationType: 'Received',
  receipt: { recipients: ['in@x.test'], action: { type: 'SNS', topicArn: 'arn:aws:sns:eu-west-1:1:t', encoding } },
  mail: {
    timestamp: '2026-11-29T20:00:00.000Z',
    source: 'ada@acme.test',
    messageId: 'd6iitobk75ur44p8kdnnp7g2n800',
    destination: ['in@x.test'],
    headersTruncated: false,
    headers: listed(['name', 'value']),
    commonHeaders: { from: ['"Ada" <ada@acme.test>'], to: ['in@x.test'], subject: 'Hi', messageId: '<1@acme.test>' },
  },
  content,
});
const sns = (message: unknown) => ({
  Type: 'Notification',
  MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
  TopicArn: 'arn:aws:sns:eu-west-1:1:t',
  Subject: 'Amazon SES Email Receipt Notification',
  Message: JSON.stringify(message),
  Timestamp: '2026-11-29T20:00:00.000Z',
  SignatureVersion: '1',
});
const mailjet = {
  Sender: 'ada@acme.test',
  Recipient: 'in@x.test',
  Date: '20261129T200000',
  From: '"Ada" <ada@acme.test>',
  Subject: 'Hi',
  Headers: Object.fromEntries(Object.entries(HEADERS).map(([name, value]) => [name, [value]])),
  Parts: [
    { Headers: { 'Content-Type': 'text/plain; charset=UTF-8' }, ContentRef: 'Text-part' },
    { Headers: { 'Content-Type': 'text/html; charset=UTF-8' }, ContentRef: 'Html-part' },
    {
      Headers: { 'Content-Type': 'text/csv', 'Content-Disposition': 'attachment; filename="a.csv"' },
      ContentRef: 'Attachment1',
    },
  ],
  'Text-part': 'Hello',
  'Html-part': '<p>Hello</p>',
  Attachment1: B64,
  SpamAssassinScore: '0.602',
};
const sparkpost = (raw: string, isBase64: boolean) => [
  {
    msys: {
      relay_message: {
        content: {
          email_rfc822: raw,
          email_rfc822_is_base64: isBase64,
          headers: Object.entries(HEADERS).map(([name, value]) => ({ [name]: value })),
          html: '<p>Hello</p>',
          subject: 'Hi',
          text: 'Hello',
          to: ['in@x.test'],
        },
        customer_id: '1337',
        friendly_from: 'ada@acme.test',
        msg_from: 'ada@acme.test',
        rcpt_to: 'in@x.test',
        webhook_id: '4839201967643219',
      },
    },
  },
];
const cloudmailin = {
  headers: {
    received: ['by x'],
    message_id: '<1@acme.test>',
    from: '"Ada" <ada@acme.test>',
    to: 'in@x.test',
    subject: 'Hi',
  },
  envelope: { to: 'in@x.test', from: 'ada@acme.test', recipients: ['in@x.test'], helo_domain: 'acme.test' },
  plain: 'Hello',
  html: '<p>Hello</p>',
  reply_plain: 'Hello',
  attachments: [{ content: B64, file_name: 'a.csv', content_type: 'text/csv', size: '3', disposition: 'attachment' }],
};
const cloudmailinForm = {
  'headers[message_id]': '<1@acme.test>',
  'headers[from]': '"Ada" <ada@acme.test>',
  'headers[to]': 'in@x.test',
  'headers[subject]': 'Hi',
  'envelope[from]': 'ada@acme.test',
  plain: 'Hello',
  html: '<p>Hello</p>',
  'attachments[0]': new File(['1,2'], 'a.csv', { type: 'text/csv' }),
};
const mandrill = {
  event: 'inbound',
  ts: 1_700_000_000,
  msg: {
    headers: { 'Message-Id': '<1@acme.test>', Received: ['by x'] },
    text: 'Hello',
    html: '<p>Hello</p>',
    from_email: 'ada@acme.test',
    from_name: 'Ada',
    to: [['in@x.test', null]],
    email: 'in@x.test',
    subject: 'Hi',
    tags: [],
    sender: null,
    attachments: { 'a.csv': { name: 'a.csv', type: 'text/csv', content: '1,2', base64: false } },
  },
};
const forwardEmail = {
  attachments: [
    { type: 'attachment', contentType: 'text/csv', filename: 'a.csv', content: { type: 'Buffer', data: [49, 44, 50] } },
  ],
  headerLines: Object.entries(HEADERS).map(([name, value]) => ({ key: name.toLowerCase(), line: `${name}: ${value}` })),
  html: '<p>Hello</p>',
  text: 'Hello',
  textAsHtml: '<p>Hello</p>',
  subject: 'Hi',
  to: { value: [{ address: 'in@x.test', name: '' }], html: '', text: 'in@x.test' },
  from: { value: [{ address: 'ada@acme.test', name: 'Ada' }], html: '', text: '"Ada" <ada@acme.test>' },
  messageId: '<1@acme.test>',
  session: { recipient: 'in@x.test', sender: 'ada@acme.test' },
};
const improvMx = {
  headers: { 'X-Forwarding-Service': 'ImprovMX v3.0.0', 'Received-SPF': ['pass'], 'Delivered-To': 'in@x.test' },
  to: [{ name: '', email: 'in@x.test' }],
  from: { name: 'Ada', email: 'ada@acme.test' },
  subject: 'Hi',
  'message-id': '<1@acme.test>',
  'return-path': { name: null, email: 'ada@acme.test' },
  timestamp: 1_700_000_000,
  text: 'Hello',
  html: '<p>Hello</p>',
  attachments: [{ type: 'text/csv', name: 'a.csv', content: B64, encoding: 'base64' }],
};
/** A Cloudflare worker that posts what postal-mime reads. */
const cloudflare = {
  headers: listed(['key', 'value']),
  from: { address: 'ada@acme.test', name: 'Ada' },
  to: [{ address: 'in@x.test', name: '' }],
  subject: 'Hi',
  messageId: '<1@acme.test>',
  text: 'Hello',
  html: '<p>Hello</p>',
  attachments: [
    { filename: 'a.csv', mimeType: 'text/csv', disposition: 'attachment', content: B64, encoding: 'base64' },
  ],
};
const zapier = {
  'From Name': 'Ada',
  'From Email': 'ada@acme.test',
  To: 'in@x.test',
  Subject: 'Hi',
  'Message ID': '<1@acme.test>',
  'Body Plain': 'Hello',
  'Body HTML': '<p>Hello</p>',
  attachments: [{ filename: 'a.csv', content: B64, type: 'text/csv' }],
};
const brevo = {
  items: [
    {
      Uuid: ['u'],
      MessageId: '<1@acme.test>',
      From: { Name: 'Ada', Address: 'ada@acme.test' },
      To: [{ Name: null, Address: 'in@x.test' }],
      Subject: 'Hi',
      RawHtmlBody: '<p>Hello</p>',
      RawTextBody: 'Hello',
      ExtractedMarkdownMessage: 'Hello',
      Attachments: [{ Name: 'a.csv', ContentType: 'text/csv', Content: B64 }],
      Headers: HEADERS,
    },
  ],
};
const mailersend = {
  type: 'inbound.message',
  data: {
    object: 'message',
    id: 'm',
    from: { email: 'ada@acme.test', name: 'Ada', raw: '"Ada" <ada@acme.test>' },
    to: { raw: 'in@x.test', data: [{ email: 'in@x.test', name: '' }] },
    subject: 'Hi',
    headers: HEADERS,
    text: 'Hello',
    html: '<p>Hello</p>',
    attachments: [{ file_name: 'a.csv', content_type: 'text/csv', size: 3, content: B64 }],
  },
};
const graph = {
  internetMessageId: '<1@acme.test>',
  internetMessageHeaders: listed(['name', 'value']),
  from: { emailAddress: { address: 'ada@acme.test', name: 'Ada' } },
  toRecipients: [],
  to: 'in@x.test',
  subject: 'Hi',
  body: { contentType: 'html', content: '<p>Hello</p>' },
  attachments: [{ name: 'a.csv', contentType: 'text/csv', contentBytes: B64 }],
};

type Sent = { readonly type: string; readonly body: Uint8Array };
const PROVIDERS: readonly [string, () => Sent | Promise<Sent>][] = [
  ['Postmark', () => json(postmark)],
  ['SendGrid', () => form(sendgrid)],
  ['SendGrid, raw', () => form({ email: RAW, envelope: sendgrid.envelope, to: 'in@x.test' })],
  ['Mailgun', () => form(mailgun)],
  ['Mailgun, raw', () => urlencoded({ recipient: 'in@x.test', sender: 'ada@acme.test', 'body-mime': RAW })],
  ['Amazon SES by SNS', () => json(sns(ses(RAW, 'UTF8')), 'text/plain; charset=UTF-8')],
  ['Amazon SES by SNS, in base64', () => json(sns(ses(Buffer.from(RAW).toString('base64'), 'BASE64')), 'text/plain')],
  ['Amazon SES by SNS, delivered raw', () => json(ses(RAW, 'UTF8'))],
  ['Mailjet', () => json(mailjet)],
  ['SparkPost', () => json(sparkpost(RAW, false))],
  ['SparkPost, in base64', () => json(sparkpost(Buffer.from(RAW).toString('base64'), true))],
  ['CloudMailin', () => json(cloudmailin)],
  ['CloudMailin, as a form', () => form(cloudmailinForm)],
  ['Mandrill', () => urlencoded({ mandrill_events: JSON.stringify([mandrill]) })],
  ['ForwardEmail', () => json(forwardEmail)],
  ['ImprovMX', () => json(improvMx)],
  ['Cloudflare', () => json(cloudflare)],
  ['Zapier', () => json(zapier)],
  ['Brevo', () => json(brevo)],
  ['MailerSend', () => json(mailersend)],
  ['Microsoft Graph', () => json(graph)],
];

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
