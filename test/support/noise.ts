import { createHash } from 'node:crypto';

/** So many bytes that nothing can be made of and nothing packs; always the same. */
export function noise(size: number): Buffer {
  return createHash('shake256', { outputLength: size }).update('noise').digest();
}
