/** A file's bytes as the API returns them: `content` for UTF-8 text, else `contentBase64`. */
export function encodeContent(content: Uint8Array): { readonly content?: string; readonly contentBase64?: string } {
  try {
    return { content: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content) };
  } catch {
    return { contentBase64: Buffer.from(content).toString('base64') };
  }
}
