import type { SourceFile } from '../model.js';
import type { Place } from './place.js';
import { type ReadFile, readFile } from './read-file.js';
import { decodeSource } from './source.js';

/** The limit for all cached files. A parsed document takes less than thirty times its bytes. */
const MAX_BYTES = 4 * 1024 * 1024;
/** A file that is not in this many consecutive trees is evicted. */
const TREES = 16;

interface Kept {
  readonly content: Uint8Array;
  readonly read: ReadFile;
  /** The last tree that had it. */
  tree: number;
}

/**
 * Reads files of trees, and caches documents by path and bytes: most files of a large tree are documents, and few of
 * them change between two checks.
 */
export class Reader {
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;
  #tree = 0;

  /** Call it before each tree. */
  next(): void {
    this.#tree += 1;
    if (this.#tree % TREES !== 0) return;
    for (const [path, { tree }] of this.#kept) if (tree < this.#tree - TREES) this.#forget(path);
  }

  /** Null when the bytes are not UTF-8. */
  read({ path, content }: SourceFile, place: Place): ReadFile | null {
    const kept = this.#kept.get(path);
    if (kept && Buffer.compare(kept.content, content) === 0) {
      kept.tree = this.#tree;
      return kept.read;
    }
    const source = decodeSource(path, content);
    if (!source) return null;
    const read = readFile(source, place);
    if (place.kind === 'knowledge' || place.kind === 'memory') this.#keep(path, content, read);
    return read;
  }

  #keep(path: string, content: Uint8Array, read: ReadFile): void {
    this.#forget(path);
    if (this.#bytes + content.byteLength > MAX_BYTES) return;
    this.#bytes += content.byteLength;
    // Copy the bytes: they may be a part of a larger buffer.
    this.#kept.set(path, { content: content.slice(), read, tree: this.#tree });
  }

  #forget(path: string): void {
    this.#bytes -= this.#kept.get(path)?.content.byteLength ?? 0;
    this.#kept.delete(path);
  }
}
