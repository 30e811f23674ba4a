import { isRecord } from '../../shared/json.js';
import { foldKey, textOf } from './field-text.js';
import type { Attachment } from './mail.js';

type Read = Attachment | string;

/** Where providers put the files of a mail: a list, or an object by their names. */
const LISTS = ['attachments', 'inlines', 'images', 'attachment'];

/**
 * The files of a JSON mail; a sentence for each attachment without bytes. The mail is accepted without it: a provider
 * that is refused only sends the same mail again. Links to files are not fetched, since the sender is not authenticated.
 */
export function jsonAttachments(all: ReadonlyMap<string, unknown>): readonly Read[] {
  const listed = LISTS.flatMap((name) => {
    const list = all.get(name);
    if (Array.isArray(list)) return list.filter(isRecord);
    return isRecord(list) ? Object.values(list).filter(isRecord) : [];
  });
  return [...listed.map(readAttachment), ...mailjetAttachments(all)];
}

function readAttachment(one: Readonly<Record<string, unknown>>): Read {
  const all = new Map(Object.entries(one).map(([name, value]) => [foldKey(name), value]));
  const pick = (...names: readonly string[]) =>
    names.map((name) => textOf(all.get(name))).find((text) => text !== '') ?? '';
  const name = pick('filename', 'name');
  const bytes = ['content', 'contentbase64', 'contentbytes', 'data'].map((key) => all.get(key)).find(isContent);
  const isPlain = all.get('base64') === false;
  return attachment(name, pick('contenttype', 'type', 'mimetype'), bytesOf(bytes, isPlain));
}

/** Mailjet: `Parts` names the fields `Attachment1` and so on, and has their headers. */
function mailjetAttachments(all: ReadonlyMap<string, unknown>): readonly Read[] {
  const parts = all.get('parts');
  return (Array.isArray(parts) ? parts.filter(isRecord) : []).flatMap((part): readonly Read[] => {
    const { ContentRef: ref, Headers: headers } = part;
    if (typeof ref !== 'string' || !/attachment/i.test(ref)) return [];
    const header = new Map(
      Object.entries(isRecord(headers) ? headers : {}).map(([k, v]) => [k.toLowerCase(), textOf(v)]),
    );
    const type = header.get('content-type') ?? '';
    const name = parameter(header.get('content-disposition') ?? '', 'filename') ?? parameter(type, 'name') ?? '';
    const content = all.get(foldKey(ref));
    return [attachment(name, type, bytesOf(isContent(content) ? content : undefined, false))];
  });
}

function attachment(name: string, type: string, content: Uint8Array | string): Read {
  if (typeof content !== 'string') return { name, type, content };
  return `attachment ${name.slice(0, 100) || 'without a name'} was left out: ${content}`;
}

/** `{ type: 'Buffer', data: [...] }` is how Node writes bytes as JSON. */
function isContent(value: unknown): value is string | Readonly<Record<string, unknown>> {
  return typeof value === 'string' || (isRecord(value) && Array.isArray(value.data));
}

function bytesOf(
  content: string | Readonly<Record<string, unknown>> | undefined,
  isPlain: boolean,
): Uint8Array | string {
  if (content === undefined) return 'it has no content, and no link is followed';
  if (typeof content !== 'string') return Uint8Array.from((content.data as readonly unknown[]).map(Number));
  if (isPlain) return new Uint8Array(Buffer.from(content));
  return base64(content) ?? 'its content is not base64';
}

/** Null for invalid base64, which Buffer would accept by skipping characters. */
function base64(text: string): Uint8Array | null {
  const compact = text.replace(/\s+/g, '');
  const digits = compact.slice(0, compact.length - (/={1,2}$/.exec(compact.slice(-2))?.[0].length ?? 0));
  if (digits.length % 4 === 1 || /[^A-Za-z0-9+/_-]/.test(digits)) return null;
  return new Uint8Array(Buffer.from(digits, 'base64'));
}

function parameter(header: string, name: string): string | undefined {
  const [, quoted, plain] = new RegExp(`;\\s*${name}=(?:"([^"]{0,300})"|([^;\\s]{1,300}))`, 'i').exec(header) ?? [];
  return quoted ?? plain;
}
