import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import type { AttachmentStream, MailParser, MessageText } from 'mailparser';
import { decodeMailText, MailTextDecoder } from './text-decoder.js';

const CHUNK_BYTES = 64 * 1024;

const OPTIONS = {
  // Nothing is made of what is not there, and the text of an HTML body is made for every kind of mail alike.
  ...{ skipHtmlToText: true, skipTextToHtml: true, skipTextLinks: true, skipImageLinks: true },
  // Of each part, in bytes, and parts in all.
  ...{ maxHeadSize: 64 * 1024, maxChildNodes: 64 },
  Iconv: MailTextDecoder,
};

interface ParsedFile {
  readonly filename: string | undefined;
  readonly contentType: string;
  readonly content: Buffer;
}

export interface ParsedMessage {
  readonly headerLines: readonly { readonly key: string; readonly line: string }[];
  readonly subject: MailParser['subject'];
  readonly from: MailParser['from'];
  readonly to: MailParser['to'];
  readonly text: string;
  readonly html: string;
  readonly files: readonly ParsedFile[];
}

/** A mail as it came over the wire, its text and headers decoded by the Encoding Standard. Throws what the parser throws. */
export async function parseMail(raw: Uint8Array): Promise<ParsedMessage> {
  // 30 MB, of which most installations have no use.
  const { MailParser } = await import('mailparser');
  const parser = new MailParser(OPTIONS);
  useStandardDecoders(parser as unknown as Internals);
  const files: ParsedFile[] = [];
  let body: MessageText | undefined;
  Readable.from(chunksOf(raw)).pipe(parser);
  for await (const data of parser as AsyncIterable<AttachmentStream | MessageText>) {
    if (data.type === 'text') {
      body = data;
      continue;
    }
    const { filename, contentType } = data;
    files.push({ filename: filename || undefined, contentType, content: await buffer(data.content) });
    data.release?.();
  }
  const { subject, from, to } = parser;
  return {
    headerLines: parser.headerLines || [],
    subject,
    from,
    to,
    text: body?.text || '',
    html: body?.html || '',
    files,
  };
}

/** What the parser does not expose. Its version is exact, and the tests of charsets fail when one of these moves. */
interface Internals {
  createNode(node: { charset?: string | false }): unknown;
  readonly libmime: { decodeWord(charset: string, encoding: string, text: string): string };
}

const ASCII = /^(?:us)?ascii$/;

/** The parser does not decode ASCII parts, nor parts without a charset, and its headers use tables of its own. */
function useStandardDecoders(parser: Internals): void {
  const createNode = parser.createNode.bind(parser);
  parser.createNode = (node) => {
    // Another label of the same charset, which the parser does decode.
    if (!node.charset || ASCII.test(node.charset.toLowerCase().replace(/[^a-z]+/g, '')))
      node.charset = 'ansi_x3.4-1968';
    return createNode(node);
  };
  const { libmime } = parser;
  const decodeWord = libmime.decodeWord.bind(libmime);
  libmime.decodeWord = (charset, encoding, text) => {
    // One character a byte.
    const bytes = Buffer.from(decodeWord('binary', encoding, text), 'latin1');
    // RFC 2231: a language may stand behind the charset.
    return decodeMailText(bytes, charset.split('*', 1)[0] ?? '');
  };
}

/** In pieces, between which others have their turn. */
async function* chunksOf(raw: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < raw.byteLength; at += CHUNK_BYTES) {
    yield raw.subarray(at, at + CHUNK_BYTES);
    await setImmediate();
  }
}
