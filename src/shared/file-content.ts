/** A file's bytes as answers have them: text, or base64 where they are none. */
export function spell(content: Uint8Array): { readonly content?: string; readonly contentBase64?: string } {
  try {
    return { content: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content) };
  } catch {
    return { contentBase64: Buffer.from(content).toString('base64') };
  }
}
