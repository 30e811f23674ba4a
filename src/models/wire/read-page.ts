import type { PostedBody } from '../../platform/net/index.js';

/** The text of a body, up to a number of bytes after decompression; null when there is more. */
export async function readPage(body: PostedBody, maxBytes: number): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) {
      body.cancel();
      return null;
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
