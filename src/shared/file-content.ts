import { decodeUtf8 } from './utf8.js';

/** A file's bytes as the API returns them: `content` for UTF-8 text, else `contentBase64`. */
export function encodeContent(content: Uint8Array): { readonly content?: string; readonly contentBase64?: string } {
  const text = decodeUtf8(content);
  return text === null ? { contentBase64: Buffer.from(content).toString('base64') } : { content: text };
}
