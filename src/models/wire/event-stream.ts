import { setImmediate } from 'node:timers/promises';
import type { PostedBody } from '../../platform/net/index.js';
import { parseJson, toJson } from '../../shared/exact-json.js';
import { isRecord } from '../../shared/json.js';
import { jsonShapeFault } from '../../shared/json-shape.js';
import type { Silence } from '../calling/silence.js';
import { ModelError } from '../contract.js';
import { providerWords } from '../failing/provider-words.js';
import { MAX_EVENT_BYTES, tooLarge } from './limits.js';
import type { Mender } from './mend/mender.js';
import { createSplitter, type ServerEvent } from './split-events.js';
import { ThinStream } from './thin-streams.js';

const SHOWN_CHARACTERS = 200;

/** A shorter event is parsed quickly, whatever it contains. */
const LARGE = 65_536;

/** Text passed on at once: its reader parses and checks each event before it yields. */
const BATCH_CHARACTERS = 4_096;

/** Maximum time for reading events without a yield to the rest of the process. */
const TURN_MS = 10;

export interface StreamWatch {
  readonly silence: Pick<Silence, 'noteContent' | 'noteAlive'>;
  readonly maxBytes: number;
  readonly mend: Mender;
}

/**
 * A provider's stream of events as its SDK can read it: whole events only, in a known shape, limited in bytes, with
 * yields to the rest of the process. Only events of an answer count against silence.
 */
export function eventStream(body: PostedBody, watch: StreamWatch): ThinStream<Uint8Array> {
  const events = readAll(body, watch);
  const encoder = new TextEncoder();
  return new ThinStream({
    async next() {
      const { done, value } = await events.next();
      return done ? { done, value: undefined } : { done: false, value: encoder.encode(value) };
    },
    cancel: () => body.cancel(),
  });
}

async function* readAll(body: PostedBody, { silence, maxBytes, mend }: StreamWatch): AsyncGenerator<string, undefined> {
  const splitter = createSplitter();
  const eventReader = createEventReader(silence, mend);
  const turns = createTurns();
  const chunks = body[Symbol.asyncIterator]();
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await chunks.next();
      size += value?.byteLength ?? 0;
      if (size > maxBytes) throw tooLarge('an answer', maxBytes);
      if (splitter.size() > MAX_EVENT_BYTES) throw tooLarge('an event', MAX_EVENT_BYTES);
      const events = done ? splitter.end() : splitter.push(value);
      if (events.length === 0) silence.noteAlive();
      let held = '';
      for (const event of events) {
        held += eventReader.event(event);
        if (held.length < BATCH_CHARACTERS) continue;
        yield held;
        held = '';
        await turns.next();
      }
      if (held !== '') yield held;
      if (done) return eventReader.end();
      await turns.next();
    }
  } catch (error) {
    body.cancel();
    throw error;
  }
}

/** Reads event by event, and judges unreadable ones by what comes after them. */
function createEventReader(silence: StreamWatch['silence'], mend: Mender) {
  let hasParts = false;
  let unread: string | null = null;
  let cut: string | null = null;
  return {
    event(event: ServerEvent): string {
      const reading = readEvent(event, mend);
      if (reading.kind === 'idle') silence.noteAlive();
      // Without the lost part, the rest would be another answer, so the call fails.
      else if (cut !== null) throw notReadable(cut);
      if (reading.kind === 'unreadable') {
        silence.noteAlive();
        unread ??= reading.text;
        if (reading.isCut) cut = reading.text;
      }
      if (reading.kind !== 'part') return '';
      silence.noteContent();
      hasParts = true;
      return reading.text;
    },
    end(): undefined {
      if (cut !== null)
        throw new ModelError('transient', `the answer was cut within an event: ${cut}`, { brief: 'cut its answer' });
      if (!hasParts && unread !== null) throw notReadable(unread);
    },
  };
}

/** Not transient: a repeated call would get the same answer. */
function notReadable(text: string): ModelError {
  const brief = 'sent what cannot be read as an answer';
  return new ModelError('refused', `${brief}: ${text}`, { brief });
}

/** Splits the work on events into pieces of some milliseconds, however much has arrived. */
function createTurns() {
  let since = performance.now();
  return {
    async next(): Promise<void> {
      if (performance.now() - since < TURN_MS) return;
      await setImmediate();
      since = performance.now();
    },
  };
}

type EventReading =
  /** The event for the SDK. */
  | { readonly kind: 'part'; readonly text: string }
  /** A ping, or an event without content. */
  | { readonly kind: 'idle' }
  /** Text that is not an event of an answer; `isCut` when it may be the first part of one. */
  | { readonly kind: 'unreadable'; readonly text: string; readonly isCut: boolean };

function readEvent({ name, data }: ServerEvent, mend: Mender): EventReading {
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
