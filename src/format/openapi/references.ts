import { isRecord } from '../../shared/json.js';
import { atPointer, decodeFragment } from '../../shared/json-pointer.js';

/** A part of a document, and the address of the document that it is in. */
export interface Part {
  readonly value: unknown;
  readonly at: string;
}

/** The part that references lead to. `key` identifies the last reference, to detect cycles. */
export interface Reached extends Part {
  readonly key: string | null;
}

const MAX_CHAIN = 50;

/** A document with all documents that it refers to, by address. Others are not followed. */
export class References {
  constructor(private readonly documents: ReadonlyMap<string, unknown>) {}

  /** The part after all its references; null when one leads nowhere, or in a cycle. */
  follow({ value, at }: Part): Reached | null {
    let part: Part = { value, at };
    let key: string | null = null;
    for (let step = 0; step < MAX_CHAIN; step += 1) {
      const ref = refOf(part.value);
      if (ref === null) return { ...part, key };
      const address = addressOf(ref, part.at);
      key = `${address}#${fragmentOf(ref)}`;
      const root = this.documents.get(address);
      const found = root === undefined ? undefined : atPointer(root, fragmentOf(ref));
      if (found === undefined) return null;
      part = { value: found, at: address };
    }
    return null;
  }
}

export function refOf(value: unknown): string | null {
  return isRecord(value) && typeof value.$ref === 'string' ? value.$ref : null;
}

/** The last name of a reference, as people call its target. */
export function nameOf(key: string): string {
  return decodeFragment(key.slice(key.lastIndexOf('/') + 1)).slice(0, 80);
}

/** Where the document of a reference is, relative to the one that contains it. */
export function addressOf(ref: string, from: string): string {
  const [target = ''] = ref.split('#');
  if (target === '') return from;
  if (URL.canParse(target)) return new URL(target).href;
  if (URL.canParse(from)) return URL.canParse(target, from) ? new URL(target, from).href : target;
  // A file of the tree, relative to the one that refers to it. A text that is not an address leads nowhere.
  const base = `tree:///${from.split('/').map(encodeURIComponent).join('/')}`;
  return URL.canParse(target, base) ? decodeFragment(new URL(target, base).pathname.slice(1)) : target;
}

/** The addresses of other documents that a document refers to. */
export function addressesIn(root: unknown, at: string): ReadonlySet<string> {
  const found = new Set<string>();
  const left = [root];
  // A YAML alias may put the same part in a thousand places: visit it once.
  const seen = new Set<object>();
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value !== 'object' || value === null || seen.has(value)) continue;
    seen.add(value);
    const ref = refOf(value);
    if (ref !== null && !ref.startsWith('#')) found.add(addressOf(ref, at));
    for (const inner of Object.values(value)) left.push(inner);
  }
  found.delete(at);
  return found;
}

function fragmentOf(ref: string): string {
  const at = ref.indexOf('#');
  return at < 0 ? '' : ref.slice(at + 1);
}
