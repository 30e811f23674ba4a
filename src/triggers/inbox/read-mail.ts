import { isRecord } from '../../shared/json.js';
import { jsonShapeFault } from '../../shared/json-shape.js';
import { errorMessage, Refusal } from '../../shared/refusal.js';
import { type Fields, formFields, jsonFields } from './fields.js';
import type { InboundMail } from './mail.js';
import { mailHeaders } from './mail-headers.js';

const MAX_ATTACHMENTS = 50;

/** Reads a mail as a provider posts it: JSON, perhaps under `data`, or the form of an inbound parser. */
export async function readMail({ type: header, body }: { type: string; body: Uint8Array }): Promise<InboundMail> {
  const type = header.split(';')[0]?.trim().toLowerCase() ?? '';
  const isForm = type === 'multipart/form-data' || type === 'application/x-www-form-urlencoded';
  return mailOf(isForm ? await readForm(header, body) : readJson(body));
}

async function readForm(type: string, body: Uint8Array): Promise<Fields> {
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } })
    .formData()
    .catch(() => null);
  if (form === null) throw new Refusal('malformed', 'the body is not the form that its Content-Type names');
  return formFields(form);
}

function readJson(body: Uint8Array): Fields {
  const text = new TextDecoder().decode(body);
  const fault = jsonShapeFault(text);
  if (fault !== null) throw new Refusal('refused', `the body ${fault}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Refusal('malformed', `the body is neither JSON nor a form: ${errorMessage(error)}`);
  }
  const { data } = isRecord(value) ? value : {};
  const mail = isRecord(data) ? data : value;
  if (!isRecord(mail)) throw new Refusal('refused', 'the body is no mail: send an object with from, to, subject, text');
  return jsonFields(mail);
}

function mailOf(fields: Fields): InboundMail {
  const { text } = fields;
  const headers = mailHeaders(fields);
  const from = text('from') || headers.from || text('sender');
  if (from === '') {
    throw new Refusal('refused', 'the mail has no from: send from, to, subject, and text or html, parsed and not raw');
  }
  const attachments = fields.files();
  if (attachments.length > MAX_ATTACHMENTS) {
    throw new Refusal(
      'refused',
      `the mail has ${attachments.length} attachments, and at most ${MAX_ATTACHMENTS} are taken`,
    );
  }
  return {
    from,
    to: text('to') || text('recipient') || headers.to || '',
    subject: text('subject') || headers.subject || '',
    text: text('text') || text('textbody') || text('bodyplain') || text('plain'),
    html: text('html') || text('htmlbody') || text('bodyhtml'),
    headers,
    envelopeFrom: fields.envelopeFrom(),
    providerId: text('messageid') || text('emailid') || null,
    attachments,
  };
}
