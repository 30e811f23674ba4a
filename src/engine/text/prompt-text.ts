import { renderPath, type Text } from '../../format/index.js';
import type { Json } from '../../shared/json.js';
import { shown } from './plain-text.js';

const INLINE_CHARACTERS = 200;
/** Characters that some reader takes for a line end. */
const LINE_END = /[\r\n\v\f\u0085\u2028\u2029]/;

/** References of a prompt's text that cannot be inline. */
export interface References {
  /** Untrusted values by path, for fenced blocks. */
  readonly values: Map<string, string>;
  /** Links in order: the documents to include. */
  readonly links: { readonly target: string; readonly heading?: string }[];
  /** The documents in the prompt, by path: a second link to one adds nothing. */
  readonly documents: Map<string, readonly string[]>;
}

/** The references of one text of a prompt. `shared` has those of the prompt's earlier text. */
export function newReferences(shared?: Pick<References, 'values' | 'documents'>): References {
  return { values: shared?.values ?? new Map(), links: [], documents: shared?.documents ?? new Map() };
}

/** Records that the prompt contains this text of a document; false when it already contained all of it. */
export function addDocument({ documents }: References, path: string, text: string): boolean {
  const texts = documents.get(path) ?? [];
  const plain = text.replaceAll('\r\n', '\n');
  if (texts.some((held) => held.includes(plain))) return false;
  documents.set(path, [...texts, plain]);
  return true;
}

/**
 * Text for a model. A one-line value of up to 200 characters is inline in quotes, numbers and booleans without;
 * anything else is named and goes into its own fenced block, so that data never reads as instruction.
 */
export function promptText(text: Text, scope: Readonly<Record<string, Json>>, references: References): string {
  return text
    .map((piece) => {
      if (piece.kind === 'text') return piece.text;
      if (piece.kind === 'link') {
        const { target, heading } = piece;
        references.links.push(heading === undefined ? { target } : { target, heading });
        return piece.label ?? target;
      }
      return inlineValue(piece.path, renderPath(piece.path, scope), references);
    })
    .join('');
}

function inlineValue(path: string, value: Json | undefined, references: References): string {
  if (value === undefined || value === null) return '';
  if (['number', 'bigint', 'boolean'].includes(typeof value)) return String(value);
  const text = shown(value);
  // The release URL is trusted, and an agent has to be able to pass it on unchanged.
  if (path === 'step.release_url') return text;
  // A quote in it would end the quotes around it, and what follows would read as instruction.
  const breaksOut = LINE_END.test(text) || (typeof value === 'string' && text.includes('"'));
  if (text.length <= INLINE_CHARACTERS && !breaksOut) return typeof value === 'string' ? `"${text}"` : text;
  references.values.set(path, text);
  return `(${path}, given below)`;
}

/** A fenced block whose fence is longer than any in the text, so that the text cannot close it. */
export function fenced(label: string, text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${label}\n${text}\n${fence}`;
}
