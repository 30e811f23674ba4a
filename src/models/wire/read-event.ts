import { parseJson, toJson } from '../../shared/exact-json.js';
import { isRecord } from '../../shared/json.js';
import { jsonShapeFault } from '../../shared/json-shape.js';
import { ModelError } from '../contract.js';
import { providerWords } from '../failing/provider-words.js';
import type { Mender } from './mend/mender.js';
import type { ServerEvent } from './split-events.js';

const SHOWN_CHARACTERS = 200;
/** A shorter event is parsed quickly, whatever it contains. */
const LARGE = 65_536;

export type EventReading =
  /** The event for the SDK. */
  | { readonly kind: 'part'; readonly text: string }
  /** A ping, or an event without content. */
  | { readonly kind: 'idle' }
  /** Text that is not an event of an answer; `isCut` when it may be the first part of one. */
  | { readonly kind: 'unreadable'; readonly text: string; readonly isCut: boolean };

export function readEvent({ name, data }: ServerEvent, mend: Mender): EventReading {
  const text = data.join('\n').trim();
  if (text === '' || name === 'ping') return { kind: 'idle' };
  if (text === '[DONE]') return { kind: 'part', text: 'data: [DONE]\n\n' };
  const fault = text.length > LARGE ? jsonShapeFault(text) : null;
  if (fault !== null)
    throw new ModelError('refused', `one event of the answer ${fault}`, { brief: `sent an event that ${fault}` });
  try {
    return readValue(parseJson(text), { name, text, mend });
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // Some servers leave out the blank line between events.
    const parts = data.length > 1 ? data.map((line) => readEvent({ name, data: [line] }, mend)) : [];
    if (parts.length > 0 && parts.every(({ kind }) => kind !== 'unreadable')) return joined(parts);
    return unreadable(text, /^[{[]/.test(text));
  }
}

function joined(parts: readonly EventReading[]): EventReading {
  const text = parts.map((part) => (part.kind === 'part' ? part.text : '')).join('');
  return text === '' ? { kind: 'idle' } : { kind: 'part', text };
}

function readValue(
  value: unknown,
  { name, text, mend }: { readonly name: string; readonly text: string; readonly mend: Mender },
): EventReading {
  if (!isRecord(value)) {
    const { text: words, labels } = Array.isArray(value) ? providerWords(value) : { text: '', labels: '' };
    return words + labels === '' ? unreadable(text, false) : { kind: 'part', text: eventText(name, text) };
  }
  if (value.type === 'ping') return { kind: 'idle' };
  const mended = mend(value);
  if (mended.length === 0) return unreadable(text, false);
  return { kind: 'part', text: mended.map((event) => eventText(name, toJson(event))).join('') };
}

function unreadable(text: string, isCut: boolean): EventReading {
  return { kind: 'unreadable', text: text.slice(0, SHOWN_CHARACTERS), isCut };
}

function eventText(name: string, data: string): string {
  const lines = data.split('\n').map((line) => `data: ${line}\n`);
  return `${name === '' ? '' : `event: ${name}\n`}${lines.join('')}\n`;
}
