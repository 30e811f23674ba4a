import { setImmediate } from 'node:timers/promises';
import type { Silence } from '../calling/silence.js';
import { ModelError } from '../contract.js';
import { MAX_EVENT_BYTES, tooLarge } from './limits.js';
import type { Mender } from './mend/mender.js';
import { readEvent } from './read-event.js';
import { createSplitter, type ServerEvent } from './split-events.js';

/** Text handed on at once: what reads it parses and checks each event of it before others have a turn. */
const BATCH_CHARACTERS = 4_096;
/** As long as events are read without a turn for the rest of the process. */
const TURN_MS = 10;

export interface StreamWatch {
  readonly ear: Pick<Silence, 'heard' | 'alive'>;
  readonly maxBytes: number;
  readonly mend: Mender;
}

/**
 * A provider's stream of events as its SDK can read it: whole events only, in a known shape, limited in bytes, with
 * turns for the rest of the process in between. Only an event of an answer counts as heard.
 */
export function eventStream(body: ReadableStream<Uint8Array>, watch: StreamWatch): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const events = readAll(reader, watch);
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await events.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      async cancel(reason) {
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

async function* readAll(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { ear, maxBytes, mend }: StreamWatch,
): AsyncGenerator<string, void> {
  const splitter = createSplitter();
  const take = eventTaker(ear, mend);
  const turns = createTurns();
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      size += value?.byteLength ?? 0;
      if (size > maxBytes) throw tooLarge('an answer', maxBytes);
      if (splitter.size() > MAX_EVENT_BYTES) throw tooLarge('an event', MAX_EVENT_BYTES);
      const events = done ? splitter.end() : splitter.push(value);
      if (events.length === 0) ear.alive();
      let held = '';
      for (const event of events) {
        held += take.event(event);
        if (held.length < BATCH_CHARACTERS) continue;
        yield held;
        held = '';
        await turns.next();
      }
      if (held !== '') yield held;
      if (done) return take.end();
      await turns.next();
    }
  } catch (error) {
    await reader.cancel(error).catch(() => undefined);
    throw error;
  }
}

/** Reads event by event, and judges what could not be read by what comes after it. */
function eventTaker(ear: StreamWatch['ear'], mend: Mender) {
  let hasParts = false;
  let unread: string | null = null;
  let cut: string | null = null;
  return {
    event(event: ServerEvent): string {
      const reading = readEvent(event, mend);
      if (reading.kind === 'idle') ear.alive();
      // A part of an answer that is lost would make another answer of the rest.
      else if (cut !== null) throw notReadable(cut);
      if (reading.kind === 'unreadable') {
        ear.alive();
        unread ??= reading.text;
        if (reading.isCut) cut = reading.text;
      }
      if (reading.kind !== 'part') return '';
      ear.heard();
      hasParts = true;
      return reading.text;
    },
    end(): void {
      if (cut !== null)
        throw new ModelError('transient', `the answer was cut within an event: ${cut}`, { brief: 'cut its answer' });
      if (!hasParts && unread !== null) throw notReadable(unread);
    },
  };
}

/** The same call would bring the same again, so it is not retried. */
function notReadable(text: string): ModelError {
  const brief = 'sent what cannot be read as an answer';
  return new ModelError('refused', `${brief}: ${text}`, { brief });
}

/** Work on events comes in pieces of some milliseconds, however much has arrived. */
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
