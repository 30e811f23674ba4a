import { charsetOf, decodeIn, decodeLossy } from '../../shared/charset.js';
import { parseExact } from '../../shared/exact-numbers.js';
import { isRecord } from '../../shared/json.js';
import { jsonShapeFault } from '../../shared/json-shape.js';
import { errorMessage, Refusal } from '../../shared/refusal.js';
import { type Fields, formFields, jsonFields } from './fields.js';
import { readFormParts } from './form-parts.js';
import type { Attachment, InboundMail } from './mail.js';
import { mailHeaders } from './mail-headers.js';
import { rawFields } from './raw-fields.js';

const MAX_ATTACHMENTS = 50;

/** How much of a text a run's input holds, in characters; all of a longer one is a file of the mail. */
const MAX_TEXT = 1_000_000;

/**
 * Reads a mail as a provider posts it: JSON, perhaps under `data`, the form of an inbound parser, or the mail itself
 * (`message/rfc822`), which those forms may hold too.
 */
export async function readMail({ type: header, body }: { type: string; body: Uint8Array }): Promise<InboundMail> {
  const type = header.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === 'message/rfc822') return mailOf(await rawFields(body));
  const isForm = type === 'multipart/form-data' || type === 'application/x-www-form-urlencoded';
  const fields = isForm ? await readForm(header, body) : readJson(header, body);
  const raw = rawIn(fields);
  if (raw === null) return mailOf(fields);
  // The envelope is what only the provider knows.
  return mailOf({ ...(await rawFields(raw)), envelopeFrom: fields.envelopeFrom });
}

/** Where inbound parsers put a mail that they were told not to parse. */
const RAW_FIELDS = ['email', 'bodymime', 'raw', 'rawemail'];

/** Its bytes: each of its parts says its own charset. */
function rawIn({ text, bytes }: Fields): Uint8Array | null {
  if (['text', 'html', 'textbody', 'htmlbody', 'bodyplain', 'bodyhtml'].some((name) => text(name) !== '')) return null;
  const isRaw = (value: string) => /^[!-9;-~]{1,100}:[^\n]*\r?\n/.test(value);
  const name = RAW_FIELDS.find((one) => isRaw(text(one)));
  return name === undefined ? null : bytes(name);
}

async function readForm(type: string, body: Uint8Array): Promise<Fields> {
  const parts = await readFormParts(type, body);
  if (parts === null) throw new Refusal('malformed', 'the body is not the form that its Content-Type names');
  return formFields(parts);
}

function readJson(type: string, body: Uint8Array): Fields {
  // A provider that is refused gives the mail up in the end, so bytes of an unknown charset are read as the most common one.
  const text = decodeIn(body, charsetOf(type)) ?? decodeLossy(body, 'windows-1252');
  const fault = jsonShapeFault(text);
  if (fault !== null) throw new Refusal('refused', `the body ${fault}`);
  let value: unknown;
  try {
    // What it tells is taken as text anyway, and an id of many digits stays the one that was sent.
    value = parseExact(text);
  } catch (error) {
    throw new Refusal('malformed', `the body is neither JSON nor a form: ${errorMessage(error)}`);
  }
  const { data } = isRecord(value) ? value : {};
  const mail = isRecord(data) ? data : value;
  if (!isRecord(mail)) throw new Refusal('refused', 'the body is no mail: send an object with from, to, subject, text');
  return jsonFields(mail);
}

/** Mail servers take less as one header, in characters. */
const MAX_LINE = 64 * 1024;

function mailOf(fields: Fields): InboundMail {
  const { text } = fields;
  const headers = mailHeaders(fields);
  const from = text('from') || headers.from || text('sender');
  if (from === '') {
    throw new Refusal('refused', 'the mail has no from: send from, to, subject, and text or html, or the mail itself');
  }
  const [to, subject] = [text('to') || text('recipient') || headers.to || '', text('subject') || headers.subject || ''];
  for (const [name, line] of Object.entries({ from, to, subject })) {
    if (line.length > MAX_LINE) throw new Refusal('refused', `the mail’s ${name} has more than ${MAX_LINE} characters`);
  }
  const attachments = fields.files();
  if (attachments.length > MAX_ATTACHMENTS) {
    throw new Refusal(
      'refused',
      `the mail has ${attachments.length} attachments, and at most ${MAX_ATTACHMENTS} are taken`,
    );
  }
  const bodies = {
    text: text('text') || text('textbody') || text('bodyplain') || text('plain'),
    html: text('html') || text('htmlbody') || text('bodyhtml'),
  };
  return {
    from,
    to,
    subject,
    text: shown(bodies.text),
    html: shown(bodies.html),
    headers,
    envelopeFrom: fields.envelopeFrom(),
    providerId: text('messageid') || text('emailid') || null,
    attachments: [...attachments, ...fileOf('text', bodies.text), ...fileOf('html', bodies.html)],
    leftOut: fields.leftOut().slice(0, MAX_ATTACHMENTS),
  };
}

const shown = (text: string): string => (text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) : text);

/** What is too long for the input, whole. */
function fileOf(kind: 'text' | 'html', text: string): readonly Attachment[] {
  if (text.length <= MAX_TEXT) return [];
  const [name, type] = kind === 'text' ? ['mail.txt', 'text/plain'] : ['mail.html', 'text/html'];
  return [{ name, type, content: new Uint8Array(Buffer.from(text)) }];
}
