import { parseJson, toJson, unmark } from '../../shared/exact-json.js';
import { canonicalJson, isRecord, type Json } from '../../shared/json.js';

/** A part of a server's answer to a call, in the server's order. */
export type ResultPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'file'; readonly what: string; readonly mediaType: string; readonly base64: string };

type Read = (block: Readonly<Record<string, unknown>>) => ResultPart | null;

/** The kinds of content blocks of the protocol (2024-11-05 to 2026-07-28). */
const BLOCKS: Readonly<Record<string, Read>> = {
  text: ({ text }) => (typeof text === 'string' ? { kind: 'text', text } : null),
  image: (block) => fileOf('an image', block.data, block.mimeType),
  audio: (block) => fileOf('audio', block.data, block.mimeType),
  resource: ({ resource }) => (isRecord(resource) ? resourceOf(resource) : null),
  resource_link: ({ uri, name, description }) => {
    const words = [name, description].filter((word) => typeof word === 'string' && word !== '').join(': ');
    return { kind: 'text', text: `[link to ${String(uri)}${words === '' ? '' : `: ${words}`}]` };
  },
};

/** The parts of a tool's result. Structured content that the texts repeat is left out: the model reads it once. */
export function readResult(result: Readonly<Record<string, unknown>>): readonly ResultPart[] {
  const blocks = Array.isArray(result.content) ? result.content : [];
  const parts = blocks.map((block) => readBlock(block).part);
  // The transports mark its large integers.
  const structured = result.structuredContent === undefined ? null : unmark(toJson(result.structuredContent));
  const texts = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  if (structured === null || repeats(texts, parseJson(structured))) return parts;
  return [...parts, { kind: 'text', text: structured }];
}

/** One block of content. `isKnown` is false for an unknown type, or a block that is invalid for its type. */
export function readBlock(block: unknown): { readonly part: ResultPart; readonly isKnown: boolean } {
  const type = isRecord(block) && typeof block.type === 'string' ? block.type : '';
  const known = isRecord(block) ? (own(type)?.(block) ?? null) : null;
  if (known !== null) return { part: known, isKnown: true };
  const notice = `[content of the unknown type "${type.slice(0, 60)}" was left out]`;
  // A block of a later protocol may have a text that a model can read all the same.
  const text = isRecord(block) && typeof block.text === 'string' && block.text !== '' ? `\n${block.text}` : '';
  return { part: { kind: 'text', text: `${notice}${text}` }, isKnown: false };
}

function own(type: string): Read | undefined {
  return Object.hasOwn(BLOCKS, type) ? BLOCKS[type] : undefined;
}

function resourceOf({ uri, text, blob, mimeType }: Readonly<Record<string, unknown>>): ResultPart | null {
  if (typeof text === 'string') return { kind: 'text', text: `[${String(uri)}]\n${text}` };
  return fileOf(String(uri), blob, mimeType);
}

function fileOf(what: string, base64: unknown, mediaType: unknown): ResultPart | null {
  if (typeof base64 !== 'string') return null;
  return { kind: 'file', what, base64, mediaType: typeof mediaType === 'string' ? mediaType : '' };
}

/**
 * Whether the texts repeat the structured content: as its JSON, with any key order and spacing, or, if it wraps one
 * value (`{ "result": … }`), as that value or as one text per item.
 */
function repeats(texts: readonly string[], structured: Json): boolean {
  const values = texts.map(canonicalText);
  const [inner, ...more] = isRecord(structured) ? Object.values(structured) : [];
  const isWrapped = inner !== undefined && more.length === 0;
  return [structured, ...(isWrapped ? [inner as Json] : [])].some((value) => {
    const whole = canonicalJson(value);
    if (values.includes(whole) || canonicalText(texts.join('\n')) === whole) return true;
    // An empty list has no texts, so nothing is repeated.
    if (!Array.isArray(value) || value.length === 0 || value.length !== values.length) return false;
    return value.every((item, index) => canonicalJson(item) === values[index]);
  });
}

/** A JSON text in canonical form; any other text as a JSON string. */
function canonicalText(text: string): string {
  try {
    return canonicalJson(parseJson(text));
  } catch {
    return canonicalJson(text);
  }
}
