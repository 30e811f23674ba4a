import { expect, test } from 'vitest';
import { eventStream } from '../../src/models/wire/event-stream.js';
import { MENDERS } from '../../src/models/wire/mend/index.js';
import { createSplitter } from '../../src/models/wire/split-events.js';
import { fc } from '../support/properties.js';

/** Feeds a stream to the reader in pieces. Answers what came out, and what was noted of each piece. */
async function read(stream: string, cuts: readonly number[] = []) {
  const bytes = Buffer.from(stream);
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  let from = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const end = ends.shift();
      if (end === undefined) return controller.close();
      controller.enqueue(new Uint8Array(bytes.subarray(from, end)));
      from = end;
    },
  });
  let heard = 0;
  let alive = 0;
  const silence = {
    noteContent: () => {
      heard += 1;
    },
    noteAlive: () => {
      alive += 1;
    },
  };
  const posted = { cancel: () => undefined, [Symbol.asyncIterator]: () => body[Symbol.asyncIterator]() };
  const out = eventStream(posted, { silence, maxBytes: 1_000_000, mend: MENDERS['openai-compatible'] });
  return { text: await new Response(out).text(), heard, alive };
}

const SIGNS = [
  ': keep-alive\n\n',
  ': OPENROUTER PROCESSING, which is a longer comment than most lines of a stream of events are\n\n',
  ':\n\n',
  '\r\n\r\n',
  'event: ping\ndata: {"type":"ping"}\n\n',
  'event: ping\r\ndata: {"type": "ping"}\r\n\r\n',
  'data:\n\n',
  'data: null\n\n',
  'id: 7\nretry: 10\n\n',
];
const CONTENT = [
  'data: {"choices":[{"delta":{"content":"a"}}]}\n\n',
  'data: [DONE]\n\n',
  `data: {"choices":[{"delta":{"content":"${'long '.repeat(20)}"}}]}\r\n\r\n`,
];

test('comments, blank lines, pings and empty events are not an answer, in whatever pieces they come', async () => {
  const signs = fc.array(fc.constantFrom(...SIGNS.filter((sign) => sign !== 'data: null\n\n')), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(signs, fc.array(fc.nat()), async (lines, cuts) => {
      expect(await read(lines.join(''), cuts)).toMatchObject({ text: '', heard: 0 });
    }),
  );
});

test('only a whole event is heard, once, in whatever pieces it comes and whatever stands around it', async () => {
  const signs = fc.array(fc.constantFrom(...SIGNS));
  const all = [signs, fc.constantFrom(...CONTENT), signs, fc.array(fc.nat())] as const;
  await fc.assert(
    fc.asyncProperty(...all, async (before, event, after, cuts) => {
      const whole = await read(before.join('') + event + after.join(''), cuts);
      expect(whole.heard).toBe(1);
      expect(whole.text).toBe((await read(event)).text);
    }),
  );
});

test('a line that has not ended is not heard, however long it grows', async () => {
  const cuts = Array.from({ length: 100 }, (_, at) => at * 20);
  const body = `data: {"choices":[{"delta":{"content":"${'long '.repeat(400)}`;
  const reading = read(body, cuts);
  await expect(reading).rejects.toThrow('the answer was cut within an event');
});

test('the splitter reads every line end, whatever pieces the stream comes in', () => {
  const end = fc.constantFrom('\n', '\r\n', '\r');
  const text = fc.stringMatching(/^[^\r\n]{0,8}$/);
  fc.assert(
    fc.property(fc.array(fc.tuple(text, end)), fc.array(fc.nat()), (events, cuts) => {
      const bytes = Buffer.from(events.map(([data, nl]) => `data: ${data}${nl}${nl}`).join(''));
      const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
      const splitter = createSplitter();
      let from = 0;
      const found = ends.flatMap((to) => {
        const part = splitter.push(bytes.subarray(from, to));
        from = to;
        return part;
      });
      expect([...found, ...splitter.end()].map(({ data }) => data.join('\n'))).toEqual(
        events.map(([data]) => Buffer.from(data).toString()),
      );
    }),
  );
});

test('events that come all at once leave turns for the rest of the process', async () => {
  const body = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'.repeat(20_000);
  let turns = 0;
  let isOn = true;
  const count = (): void => {
    turns += 1;
    if (isOn) setImmediate(count);
  };
  setImmediate(count);
  await read(body);
  isOn = false;
  expect(turns).toBeGreaterThan(3);
});

test('a stream of small events is limited by its bytes', async () => {
  const body = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'.repeat(25_000);
  await expect(read(body)).rejects.toThrow('it sent an answer larger than 977 KiB');
});
