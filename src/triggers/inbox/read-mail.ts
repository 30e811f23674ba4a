import { charsetOf, decodeIn, decodeLossy } from '../../shared/charset.js';
import { isRecord } from '../../shared/json.js';
import { Refusal } from '../../shared/refusal.js';
import { textOf } from './field-text.js';
import { type Fields, formFields, jsonFields } from './fields.js';
import { readFormParts } from './form-parts.js';
import { htmlText } from './html-text.js';
import type { Attachment, InboundMail } from './mail.js';
import { mailHeaders } from './mail-headers.js';
import { parseJson, postedMails } from './posted-mail.js';
import { rawFields } from './raw-fields.js';

const MAX_ATTACHMENTS = 50;

/** How much of a text a run's input holds, in characters; all of a longer one is a file of the mail. */
const MAX_TEXT = 1_000_000;

/** Reads one mail of a request. Throws the Refusal of that mail only. */
export type ReadMail = () => Promise<InboundMail>;

interface Posted {
  readonly type: string;
  readonly body: Uint8Array;
}

/** The one mail, or the first of several, that a provider posted. */
export async function readMail(sent: Posted): Promise<InboundMail> {
  const [read] = await openMails(sent);
  if (!read) throw new Refusal('refused', 'the body holds no mail');
  return read();
}

/**
 * Reads a provider's request: JSON in the provider's wrapper, possibly with several mails; the form of an inbound
 * parser; or a raw mail (`message/rfc822`), which the other two may contain. An empty list is a provider's test.
 */
export async function openMails({ type: header, body }: Posted): Promise<readonly ReadMail[]> {
  const type = header.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === 'message/rfc822') return [async () => mailOf(await rawFields(body))];
  const isForm = type === 'multipart/form-data' || type === 'application/x-www-form-urlencoded';
  if (!isForm) return jsonMails(jsonText(header, body));
  const fields = await readForm(header, body);
  const events = fields.text('mandrillevents');
  return events === '' ? [() => readFields(fields)] : jsonMails(events);
}

function jsonMails(text: string): readonly ReadMail[] {
  return postedMails(parseJson(text)).map(({ fields, raw }) => {
    return async () => (raw === null ? readFields(jsonFields(fields)) : readRaw(raw, jsonFields(fields)));
  });
}

async function readFields(fields: Fields): Promise<InboundMail> {
  const raw = rawIn(fields);
  return raw === null ? mailOf(fields) : readRaw(raw, fields);
}

/** Only the provider knows the envelope. */
async function readRaw(raw: Uint8Array, { envelopeFrom }: Fields): Promise<InboundMail> {
  return mailOf({ ...(await rawFields(raw)), envelopeFrom });
}

/** The fields in which inbound parsers put an unparsed mail. */
const RAW_FIELDS = ['email', 'bodymime', 'raw', 'rawemail', 'rawmsg', 'rawmime', 'emailrfc822', 'mime'];

/** The fields in which providers put the text and the HTML, in order of preference. */
const TEXTS = [
  ...['text', 'textbody', 'bodyplain', 'plain', 'textpart', 'rawtextbody', 'bodytext', 'plaintext', 'textplain'],
  ...['plainbody', 'textcontent', 'strippedtext', 'strippedtextreply', 'replyplain', 'extractedmarkdownmessage'],
];
const HTMLS = ['html', 'htmlbody', 'bodyhtml', 'htmlpart', 'rawhtmlbody', 'texthtml', 'htmlcontent', 'strippedhtml'];

/** The raw mail as bytes, since each of its parts has its own charset. */
function rawIn({ text, bytes }: Fields): Uint8Array | null {
  if ([...TEXTS, ...HTMLS].some((name) => text(name) !== '')) return null;
  const isRaw = (value: string) => /^[!-9;-~]{1,100}:[^\n]*\r?\n/.test(value);
  const name = RAW_FIELDS.find((one) => isRaw(text(one)));
  return name === undefined ? null : bytes(name);
}

async function readForm(type: string, body: Uint8Array): Promise<Fields> {
  const parts = await readFormParts(type, body);
  if (parts === null) throw new Refusal('malformed', 'the body is not the form that its Content-Type names');
  return formFields(parts);
}

function jsonText(type: string, body: Uint8Array): string {
  // A refused mail would be lost, so an unknown charset is read as the most common one.
  return decodeIn(body, charsetOf(type)) ?? decodeLossy(body, 'windows-1252');
}

/** In characters; mail servers accept less than that in one header. */
const MAX_LINE = 64 * 1024;

async function mailOf(fields: Fields): Promise<InboundMail> {
  const { text } = fields;
  const headers = mailHeaders(fields);
  const lines = linesOf(fields, headers);
  for (const [name, line] of Object.entries(lines)) {
    if (line.length > MAX_LINE) throw new Refusal('refused', `the mail’s ${name} has more than ${MAX_LINE} characters`);
  }
  const attachments = fields.files();
  if (attachments.length > MAX_ATTACHMENTS) {
    throw new Refusal(
      'refused',
      `the mail has ${attachments.length} attachments, and at most ${MAX_ATTACHMENTS} are taken`,
    );
  }
  const bodies = bodiesOf(fields);
  return {
    ...lines,
    text: shown(bodies.text.trim() === '' && bodies.html !== '' ? await htmlText(bodies.html) : bodies.text),
    html: shown(bodies.html),
    headers,
    envelopeFrom: fields.envelopeFrom(),
    providerId: text('messageid') || text('emailid') || null,
    attachments: [...attachments, ...fileOf('text', bodies.text), ...fileOf('html', bodies.html)],
    leftOut: fields.leftOut().slice(0, MAX_ATTACHMENTS),
    unread: isReadable(fields) ? null : fields.names,
  };
}

function linesOf({ text }: Fields, headers: InboundMail['headers']): Pick<InboundMail, 'from' | 'to' | 'subject'> {
  const named = (address: string, name: string) =>
    name === '' || address === '' ? address : textOf({ address, name });
  const from =
    text('from') ||
    headers.from ||
    named(text('fromemail'), text('fromname')) ||
    text('friendlyfrom') ||
    text('sender');
  if (from === '') {
    throw new Refusal('refused', 'the mail has no from: send from, to, subject, and text or html, or the mail itself');
  }
  return {
    from,
    to: text('to') || text('recipient') || text('recipients') || text('tolist') || headers.to || '',
    subject: text('subject') || headers.subject || '',
  };
}

function bodiesOf({ text, raw }: Fields): { readonly text: string; readonly html: string } {
  const first = (names: readonly string[]) => names.map(text).find((value) => value !== '') ?? '';
  const known = { text: first(TEXTS), html: first(HTMLS) };
  if (known.text !== '' || known.html !== '') return known;
  // Microsoft Graph and Power Automate send one body and its type.
  const body = raw('body');
  if (typeof body === 'string') return raw('ishtml') === true ? { text: '', html: body } : { text: body, html: '' };
  const { content, contentType } = isRecord(body) ? body : {};
  if (typeof content !== 'string') return known;
  return String(contentType).toLowerCase().includes('html') ? { text: '', html: content } : { text: content, html: '' };
}

/**
 * True when the mail has a body, even an empty one, or a file. Without either, the provider uses unknown field names.
 */
function isReadable(fields: Fields): boolean {
  return [...TEXTS, ...HTMLS, 'body'].some((name) => fields.has(name)) || fields.files().length > 0;
}

const shown = (text: string): string => (text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) : text);

/** A text that is too long for the input, as an attachment. */
function fileOf(kind: 'text' | 'html', text: string): readonly Attachment[] {
  if (text.length <= MAX_TEXT) return [];
  const [name, type] = kind === 'text' ? ['mail.txt', 'text/plain'] : ['mail.html', 'text/html'];
  return [{ name, type, content: new Uint8Array(Buffer.from(text)) }];
}
