import { redactor } from '../../shared/redact.js';

/** A program may have written down what it was given: bytes that hold no secret come back as they are. */
export function withoutSecrets(content: Buffer, secrets: ReadonlyMap<string, string>): Buffer {
  if (secrets.size === 0) return content;
  // Latin-1 keeps every byte, so that what is not text is not changed; secrets are looked for as their UTF-8 bytes.
  const asBytes = [...secrets].map(([name, value]) => [name, Buffer.from(value, 'utf8').toString('latin1')] as const);
  const text = content.toString('latin1');
  const redacted = redactor(new Map(asBytes)).text(text);
  return redacted === text ? content : Buffer.from(redacted, 'latin1');
}
