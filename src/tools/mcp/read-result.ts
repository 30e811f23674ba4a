import { isRecord, type Json } from '../../shared/json.js';

/** What a server answered to a call, in the order in which it said it. */
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

/** The parts of a tool's result. What the server says a second time as structured content is said once. */
export function readResult(result: Readonly<Record<string, unknown>>): readonly ResultPart[] {
  const blocks = Array.isArray(result.content) ? result.content : [];
  const parts = blocks.map((block) => {
    const read = isRecord(block) && typeof block.type === 'string' ? own(block.type) : undefined;
    const part = isRecord(block) && read ? read(block) : null;
    return part ?? { kind: 'text' as const, text: '[content of a kind that is not known was left out]' };
  });
  const { structuredContent } = result;
  if (structuredContent === undefined || isSaid(parts, structuredContent as Json)) return parts;
  return [...parts, { kind: 'text', text: JSON.stringify(structuredContent) }];
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

function isSaid(parts: readonly ResultPart[], structured: Json): boolean {
  const words = JSON.stringify(structured);
  return parts.some((part) => {
    if (part.kind !== 'text' || !/^\s*[[{"\d\-tfn]/.test(part.text)) return false;
    try {
      return JSON.stringify(JSON.parse(part.text)) === words;
    } catch {
      return false;
    }
  });
}
