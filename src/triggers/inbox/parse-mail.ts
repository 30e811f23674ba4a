import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import type { AttachmentStream, MailParser, MessageText } from 'mailparser';
import { decodeMailText, MailTextDecoder } from './text-decoder.js';

const CHUNK_BYTES = 64 * 1024;

const OPTIONS = {
  // No conversion by the parser: `html-text.ts` makes the text of an HTML body for all kinds of mail.
  ...{ skipHtmlToText: true, skipTextToHtml: true, skipTextLinks: true, skipImageLinks: true },
  // Bytes of a part's header, and the total number of parts.
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

/** Parses a raw mail and decodes text and headers by the Encoding Standard. Throws what the parser throws. */
export async function parseMail(raw: Uint8Array): Promise<ParsedMessage> {
  // Imported on demand: it takes 30 MB of memory, and most installations receive no raw mail.
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

/** Internals of the parser, whose version is pinned. The charset tests fail when one of them changes. */
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
    // RFC 2231: a language may follow the charset.
    return decodeMailText(bytes, charset.split('*', 1)[0] ?? '');
  };
}

/** In chunks, yielding to the event loop in between. */
async function* chunksOf(raw: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < raw.byteLength; at += CHUNK_BYTES) {
    yield raw.subarray(at, at + CHUNK_BYTES);
    await setImmediate();
  }
}
