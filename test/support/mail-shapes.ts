/** Shapes of the providers' documentation, shortened. */
export const json = (mail: unknown, type = 'application/json') => ({ type, body: Buffer.from(JSON.stringify(mail)) });

async function form(fields: Readonly<Record<string, string | File>>) {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  const response = new Response(data);
  return { type: response.headers.get('content-type') ?? '', body: new Uint8Array(await response.arrayBuffer()) };
}

export const urlencoded = (fields: Readonly<Record<string, string>>) => ({
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
export const B64 = 'MSwy';
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
export const sns = (message: unknown) => ({
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
export const mandrill = {
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
export const PROVIDERS: readonly [string, () => Sent | Promise<Sent>][] = [
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
