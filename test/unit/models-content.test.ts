import { test } from 'vitest';
import { contentFinder } from '../../src/models/calling/find-content.js';
import { fc } from '../support/properties.js';

/** Feeds a stream in pieces, and answers whether any of them was content. */
function hear(stream: string, cuts: readonly number[] = []): boolean {
  const bytes = Buffer.from(stream);
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  const isContent = contentFinder();
  let from = 0;
  let found = false;
  for (const end of ends) {
    found = isContent(bytes.subarray(from, end)) || found;
    from = end;
  }
  return found;
}

const SIGNS = [
  ': keep-alive\n\n',
  ': OPENROUTER PROCESSING, which is a longer comment than most lines of a stream of events are\n\n',
  ':\n\n',
  '\r\n\r\n',
  'event: ping\ndata: {"type":"ping"}\n\n',
  'event: ping\r\ndata: {"type": "ping"}\r\n\r\n',
  'data:\n\n',
];
const CONTENT = [
  'data: {"choices":[{"delta":{"content":"a"}}]}\n\n',
  'event: content_block_delta\n',
  'data: [DONE]\n\n',
  `data: {"choices":[{"delta":{"content":"${'long '.repeat(20)}`,
];

test('comments, blank lines and pings are no content, in whatever pieces they come', () => {
  const signs = fc.array(fc.constantFrom(...SIGNS), { minLength: 1 });
  fc.assert(fc.property(signs, fc.array(fc.nat()), (lines, cuts) => !hear(lines.join(''), cuts)));
});

test('a line of an answer is content, in whatever pieces it comes and whatever stands around it', () => {
  const signs = fc.array(fc.constantFrom(...SIGNS));
  const all = [signs, fc.constantFrom(...CONTENT), fc.array(fc.nat())] as const;
  fc.assert(fc.property(...all, (before, line, cuts) => hear(before.join('') + line, cuts)));
});
