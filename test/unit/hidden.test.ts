import { expect, test } from 'vitest';
import { SecretMask } from '../../src/engine/secrets/secret-mask.js';
import { file } from '../../src/secrets/shapes/file.js';
import { redactor } from '../../src/shared/redact.js';
import { fc } from '../support/properties.js';
import { recordingLog } from '../support/recording-log.js';

const CANARY = 'cänary/4711+"of it"';

function hiding(...texts: readonly string[]): SecretMask {
  const hidden = new SecretMask();
  for (const [index, text] of texts.entries()) hidden.add(`S${index}`, [text]);
  return hidden;
}

/** Any JSON, with the text in some of its places, as it is and encoded. */
const holding = (text: string) =>
  fc
    .json({ maxDepth: 4 })
    .chain((json) =>
      fc
        .constantFrom(
          text,
          `<${text}>`,
          JSON.stringify(text),
          encodeURIComponent(text),
          Buffer.from(text).toString('base64'),
          Buffer.from(text).toString('hex'),
        )
        .map((said) => ({ said, list: [json, { [said]: said, deep: [[said]] }], number: 4711, big: 4711n, no: null })),
    );

test('security 18: no text within a value holds a secret, keys and all depths included, and the rest stays as it is', () => {
  fc.assert(
    fc.property(holding(CANARY), (value) => {
      const shown = hiding(CANARY).value(value);
      const text = JSON.stringify(shown, (_key, entry: unknown) => (typeof entry === 'bigint' ? String(entry) : entry));
      expect(text).toContain('[secret S0]');
      for (const form of [
        '4711+',
        '4711%2B',
        Buffer.from(CANARY).toString('hex'),
        Buffer.from(CANARY).toString('base64'),
      ]) {
        expect(text).not.toContain(form);
      }
      expect(shown).toMatchObject({ number: 4711, big: 4711n, no: null });
      expect(shown.list[0]).toEqual(value.list[0]);
    }),
  );
});

test('security 18: an error that is thrown on keeps its class and tells nothing, nor do its stack and its causes', () => {
  class Special extends Error {}
  const cause = new Error(`because of ${CANARY}`);
  const error = new Special(`it said ${CANARY}`, { cause: new Error('between', { cause }) });
  const one = new Error(`one: ${CANARY}`);
  expect(hiding(CANARY).error(new AggregateError([one], 'all'))).toMatchObject({
    errors: [{ message: 'one: [secret S0]' }],
  });
  const shown = hiding(CANARY).error(error);
  expect(shown).toBeInstanceOf(Special);
  expect(shown.message).toBe('it said [secret S0]');
  expect(cause.message).toBe('because of [secret S0]');
  expect(`${shown.stack}${cause.stack}`).not.toContain('4711');
});

test('security 18: a log line tells nothing, whatever its fields hold, and dates and bytes stay what they are', () => {
  const lines: object[] = [];
  const at = new Date();
  const log = hiding(CANARY).log(recordingLog(lines)).child({ of: CANARY });
  log.warn({ err: new Error(CANARY), at, bytes: Buffer.from('x'), deep: [{ CANARY }] }, 'a warning');
  expect(
    JSON.stringify(lines, (_key, entry: unknown) => (entry instanceof Error ? entry.message : entry)),
  ).not.toContain('4711');
  expect(lines).toMatchObject([{ at, of: '[secret S0]', deep: [{ CANARY: '[secret S0]' }], message: 'a warning' }]);
});

test('security 18: what is learned later is hidden from then on, under its own name, and one secret may have many texts', () => {
  const hidden = hiding('the-first-text');
  expect(hidden.text('the-first-text, token-of-later')).toBe('[secret S0], token-of-later');
  hidden.add('LATER', ['token-of-later', 'another-of-later']);
  expect(hidden.text('the-first-text, token-of-later, another-of-later')).toBe(
    '[secret S0], [secret LATER], [secret LATER]',
  );
});

test('nothing to hide is no work: values, errors and lines pass as they are', () => {
  const hidden = new SecretMask();
  const value = { a: [CANARY] };
  expect(hidden.value(value)).toBe(value);
  expect(hidden.text(CANARY)).toBe(CANARY);
});

test('security 18: every spelling of JSON, in one piece and in many', () => {
  const spellings = (text: string) => {
    const plain = JSON.stringify(text).slice(1, -1);
    const escaped = (upper: boolean) =>
      plain.replace(/[^ -~]/g, (sign) => {
        const hex = sign.charCodeAt(0).toString(16).padStart(4, '0');
        return `\\u${upper ? hex.toUpperCase() : hex}`;
      });
    return [plain, escaped(false), escaped(true)].flatMap((form) => [form, form.replaceAll('/', '\\/')]);
  };
  const secret = fc
    .string({ minLength: 8, maxLength: 40, unit: 'grapheme' })
    .filter((text) => text.trim().length >= 8 && !/secret|TOKEN|[\r\n]/.test(text));
  fc.assert(
    fc.property(secret, fc.nat({ max: 20 }), (value, width) => {
      const { text, stream } = redactor([['TOKEN', value]]);
      for (const form of spellings(value)) {
        expect(text(`{"a":"${form}"}`)).toBe('{"a":"[secret TOKEN]"}');
        let out = '';
        const { write, end } = stream((piece) => {
          out += piece;
        });
        for (const piece of `{"a":"${form}"}`.match(new RegExp(`[\\s\\S]{1,${width + 1}}`, 'g')) ?? []) write(piece);
        end();
        expect(out).toBe('{"a":"[secret TOKEN]"}');
      }
    }),
    // Space on both sides, which seldom comes.
    { examples: [['  #\u{10000}\u{10000}\u{10000}! ', 0]] },
  );
});

test('a file of settings hides what stands behind each name, and a line that is made to be read slowly is read at once', () => {
  const lines = [
    'KEY=Abc-12345',
    ' "token": "Zyx+98765",',
    "- pass : 'Qwe_45678';",
    'word: plain',
    'a: https',
    '= Lone-12345',
  ];
  expect(file.hidden({ filename: 'a.env', content: lines.join('\n') }).slice(1)).toEqual([
    'Abc-12345',
    'Zyx+98765',
    'Qwe_45678',
  ]);
  // Each would take minutes, were its length squared.
  const hostile = [
    ' '.repeat(200_000),
    `${'-'.repeat(200_000)}x`,
    `a${' '.repeat(200_000)}x`,
    `a: ${','.repeat(200_000)}b1B`,
  ];
  expect(file.hidden({ filename: 'a.env', content: hostile.join('\n') })).toHaveLength(2);
});
