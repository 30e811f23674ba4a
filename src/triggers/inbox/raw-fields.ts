import type { EmailAddress } from 'mailparser';
import { errorMessage, Refusal } from '../../shared/refusal.js';
import { type Fields, parsedFields } from './fields.js';
import { type ParsedMessage, parseMail } from './parse-mail.js';
import { withoutControls } from './text-decoder.js';

/** Bytes of 25 MiB in base64 have 350,000 lines. */
const MAX_LINES = 500_000;

/**
 * The fields of a raw mail (RFC 5322 and MIME). Refuses a mail with too many lines, parts or headers, which would take
 * too long to parse.
 */
export async function rawFields(raw: Uint8Array): Promise<Fields> {
  if (hasMoreLines(raw, MAX_LINES)) throw new Refusal('refused', `the mail has more than ${MAX_LINES} lines`);
  const mail = await parseMail(raw).catch((error: unknown) => {
    throw new Refusal('refused', `the mail cannot be read: ${errorMessage(error)}`);
  });
  const { text, html, headerLines } = mail;
  const subject = mail.subject && withoutControls(mail.subject);
  const files = mail.files.map(({ filename, contentType: type, content }, at) => ({
    name: withoutControls(filename ?? nameOf(type, content, at)),
    type,
    content,
  }));
  const headers = headerLines.map(({ key, line }) => [key, headerText(line)]);
  const to = [mail.to ?? []].flat().flatMap(({ value }) => value.map(readable));
  return parsedFields({ from: fromOf(mail), to, subject, text, html, headers }, files);
}

/** A file name for a forwarded mail or an invitation, which are often sent without one. */
function nameOf(type: string, content: Uint8Array, at: number): string {
  const end = ENDINGS.get(type);
  if (end === undefined) return '';
  const head = type === 'message/rfc822' ? Buffer.from(content.subarray(0, 16 * 1024)).toString('latin1') : '';
  const subject = /^Subject:[ \t]*([ -~]{1,100})/im.exec(head.split(/\r?\n\r?\n/)[0] ?? '')?.[1]?.trim();
  const name = subject && !subject.includes('=?') ? subject.replace(/[\\/]/g, '-') : `attachment-${at + 1}`;
  return `${name}${end}`;
}

const ENDINGS: ReadonlyMap<string, string> = new Map([
  ['message/rfc822', '.eml'],
  ['text/calendar', '.ics'],
  ['application/ics', '.ics'],
  ['text/vcard', '.vcf'],
  ['application/pdf', '.pdf'],
  ['image/png', '.png'],
  ['image/jpeg', '.jpg'],
  ['text/csv', '.csv'],
]);

function hasMoreLines(raw: Uint8Array, most: number): boolean {
  let at = -1;
  for (let count = 0; count <= most; count += 1) {
    at = raw.indexOf(0x0a, at + 1);
    if (at < 0) return false;
  }
  return true;
}

/** With several From lines the sender is unknown: all lines are kept, so that `addressOf` finds no single address. */
function fromOf({ from, headerLines }: ParsedMessage): unknown {
  const lines = headerLines.filter(({ key }) => key === 'from');
  return lines.length === 1 ? from?.value.map(readable) : lines.map(({ line }) => headerText(line)).join(', ');
}

function readable(one: EmailAddress): EmailAddress {
  return { ...one, name: withoutControls(one.name) };
}

function headerText(line: string): string {
  return line
    .slice(line.indexOf(':') + 1)
    .replace(/\r?\n[ \t]+/g, ' ')
    .trim();
}
