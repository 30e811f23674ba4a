import type { InstallKey } from './config.js';

/** `id:base64,id:base64`, each of 32 bytes; the first signs. A text is what is wrong with it, without the key itself. */
export function parseInstallKeys(text: string): readonly InstallKey[] | string {
  const keys: InstallKey[] = [];
  for (const [index, entry] of text.split(',').entries()) {
    const [, id, encoded] = /^\s*([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/_-]+={0,2})\s*$/.exec(entry) ?? [];
    if (id === undefined || encoded === undefined) return `key ${index + 1} must be written id:base64`;
    const key = new Uint8Array(Buffer.from(encoded, 'base64'));
    if (key.length !== 32) return `key "${id}" has ${key.length} bytes and must have 32 (openssl rand -base64 32)`;
    if (keys.some((other) => other.id === id)) return `the id "${id}" is there twice`;
    keys.push({ id, key });
  }
  return keys;
}
