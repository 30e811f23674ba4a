import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { type Redactor, redactor } from '../../src/shared/redact.js';
import { cpuUnit, expectCpu } from '../support/cpu-cost.js';
import { fc } from '../support/properties.js';

const secret = fc
  .string({ minLength: 6, maxLength: 60, unit: 'grapheme' })
  .filter((text) => text.trim().length >= 6 && !/secret|TOKEN|[[\]\r\n]/.test(text));
const base64 = (text: string) => Buffer.from(text, 'utf8').toString('base64');

/** As Go writes signs of HTML within a JSON string. */
const escaped = (sign: string) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A text in which the secret stands in the given form, cut into pieces anywhere. */
function pieces(text: string, cuts: readonly number[]): string[] {
  const at = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((start, index) => text.slice(start, at[index] ?? text.length));
}

test('security 18: a secret is found in every usual form', () => {
  fc.assert(
    fc.property(secret, (value) => {
      const { text } = redactor(new Map([['TOKEN', value]]));
      const forms = [
        value,
        JSON.stringify(value).slice(1, -1),
        encodeURIComponent(value),
        encodeURI(value),
        new URLSearchParams({ v: value }).toString().slice(2),
        Buffer.from(value).toString('hex'),
        JSON.stringify(value).slice(1, -1).replace(/[<>&]/g, escaped),
        value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
      ];
      for (const form of forms) expect(text(`<${form}>`)).toBe('<[secret TOKEN]>');
      for (const before of ['', 'u', 'us']) {
        const encoded = base64(`${before}${value}`);
        const left = text(`<${encoded}>`).replace('[secret TOKEN]', '');
        expect(left.length, 'at most two characters of a group stay at either end').toBeLessThanOrEqual(
          2 + 3 + 3 + (before.length > 0 ? 1 : 0),
        );
      }
    }),
  );
});

/** What a stream gave out after each piece, in all, and at its end. */
function streamed({ stream }: Redactor, given: readonly string[]): string[] {
  let out = '';
  const { write, end } = stream((piece) => {
    out += piece;
  });
  const after = given.map((piece) => {
    write(piece);
    return out;
  });
  end();
  return [...after, out];
}

test('security 18: a secret that comes in pieces is found, and nothing else is held back or changed', () => {
  fc.assert(
    fc.property(
      secret,
      fc.string(),
      fc.string(),
      fc.array(fc.nat(), { maxLength: 8 }),
      (value, before, after, cuts) => {
        const hide = redactor(new Map([['TOKEN', value]]));
        const whole = `${before}${value}${after}`;
        const out = streamed(hide, pieces(whole, cuts)).at(-1);
        expect(out).toBe(hide.text(whole));
        expect(out).not.toContain(value);
      },
    ),
    // Blanks on both sides: all but the last is a secret's form already.
    { examples: [[' ! \u{10000}\u{10000} ', '', '!!!', [1390204051]]] },
  );
});

/** Few signs, so that they overlap themselves and each other; none that a mark or another spelling of them has. */
const dense = fc
  .string({ unit: fc.constantFrom('a', 'b', ' ', '\n', '\u{10000}', 'é'), minLength: 6, maxLength: 14 })
  .filter((text) => text.trim().length >= 6);
/** Secrets, and a text of pieces of them. */
const mixed = fc.uniqueArray(dense, { minLength: 1, maxLength: 3 }).chain((secrets) =>
  fc.record({
    secrets: fc.constant(secrets),
    parts: fc.array(
      fc
        .tuple(fc.oneof(fc.constantFrom(...secrets), dense), fc.nat(14), fc.nat(14))
        .map(([text, from, length]) => (from > 5 ? text : text.slice(from, from + length))),
      { maxLength: 12 },
    ),
    cuts: fc.array(fc.nat(), { maxLength: 20 }),
  }),
);

/** Every secret at every place, looked for in the plainest way. */
function plainly(whole: string, secrets: readonly string[]): string {
  const found = secrets.flatMap((value, index) =>
    [value, value.trim()].flatMap((text) =>
      Array.from({ length: whole.length }, (_, start) => ({ start, end: start + text.length, index })).filter(
        ({ start }) => whole.startsWith(text, start),
      ),
    ),
  );
  found.sort((a, b) => a.start - b.start || b.end - a.end || a.index - b.index);
  let [out, at] = ['', 0];
  for (const { start, end, index } of found) {
    if (start >= at) out += `${whole.slice(at, start)}[secret ${index}]`;
    at = Math.max(at, end);
  }
  return out + whole.slice(at);
}

test('security 18: secrets that overlap are hidden to their last character, as one text, in pieces and as bytes', () => {
  fc.assert(
    fc.property(mixed, ({ secrets, parts, cuts }) => {
      const hide = redactor(secrets.map((value, index) => [`${index}`, value] as const));
      const whole = parts.join('');
      const shown = plainly(whole, secrets);
      expect(hide.text(whole)).toBe(shown);
      expect(hide.bytes(Buffer.from(whole)).toString()).toBe(Buffer.from(shown).toString());
      const out = streamed(hide, pieces(whole, cuts));
      expect(out.at(-1)).toBe(shown);
      for (const sofar of out) expect(shown.startsWith(sofar)).toBe(true);
    }),
  );
});

test('security 18: codes that overlap and are broken into lines come out of a stream as out of the whole text', () => {
  const codes = (text: string) => [base64(text), base64(`u${text}`), Buffer.from(text).toString('hex'), text];
  fc.assert(
    fc.property(mixed, fc.array(fc.nat(3), { maxLength: 12 }), fc.nat(7), ({ secrets, parts, cuts }, ways, width) => {
      const hide = redactor(secrets.map((value, index) => [`${index}`, value] as const));
      const whole = parts
        .map((part, index) => codes(part)[ways[index] ?? 0] ?? '')
        .join('')
        .replace(new RegExp(`.{${width + 1}}`, 'gs'), width % 2 === 0 ? '$&\n' : '$&\r\n');
      const shown = hide.text(whole);
      const out = streamed(hide, pieces(whole, cuts));
      expect(out.at(-1)).toBe(shown);
      for (const sofar of out) expect(shown.startsWith(sofar)).toBe(true);
      const lines = shown.replaceAll(/[\r\n]/g, '');
      for (const code of secrets.flatMap((value) => codes(value).slice(0, 3))) expect(lines).not.toContain(code);
    }),
  );
});

test('what may go on as a secret is held back within bounds, however many blank lines follow', () => {
  const hide = redactor([['TOKEN', 'canary-1234']]);
  const code = base64('canary-1234').slice(0, 8);
  expect(streamed(hide, [code, '\n\n', '\n\n', '\n'])).toEqual(['', '', '', `${code}\n\n\n\n\n`, `${code}\n\n\n\n\n`]);
});

test('text without a secret goes through a stream at once', () => {
  const out: string[] = [];
  const { write } = redactor(new Map([['TOKEN', 'canary-1234']])).stream((piece) => void out.push(piece));
  write('hello ');
  write('can');
  write('dy');
  expect(out).toEqual(['hello ', 'candy']);
});

test('pieces of a secret beside a cut are taken out', () => {
  const { cut } = redactor(new Map([['TOKEN', 'canary-1234']]));
  expect(cut('begin canary-1\n[… 9 left out …]\nry-1234 end', /\n\[… \d+ left out …\]\n/)).toBe(
    'begin \n[… 9 left out …]\n end',
  );
  const two = redactor([
    ['A', 'abcdef'],
    ['B', 'defghijk'],
  ]);
  expect(two.cut('x abcdefghi\n[… 9 left out …]\nefghijk y', /\n\[… \d+ left out …\]\n/)).toBe(
    'x [secret A]\n[… 9 left out …]\n y',
  );
  expect(cut('a canary-1234 b', /\n\[… \d+ left out …\]\n/)).toBe('a [secret TOKEN] b');
});

test('lines of a key are found one by one, short values are left alone', () => {
  const { text } = redactor(
    new Map([
      ['KEY', '-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nshort\n'],
      ['PIN', '1234'],
    ]),
  );
  expect(text('at MIIEvQIBADANBgkqhkiG9w0B, short, 1234')).toBe('at [secret KEY], short, 1234');
});

test('characters that mean something in patterns are only characters', () => {
  const { text } = redactor(new Map([['A', 'a.*+?^${}()|[]\\/-z']]));
  expect(text('x a.*+?^${}()|[]\\/-z y aXXXz')).toBe('x [secret A] y aXXXz');
});

test('bytes that are no text keep every byte but the secret', () => {
  const content = Buffer.concat([Buffer.from([0xff, 0x00, 0x80]), Buffer.from('käse-geheim'), Buffer.from([0xfe])]);
  const { bytes } = redactor([['K', 'käse-geheim']]);
  const redacted = bytes(content);
  expect(redacted).toEqual(
    Buffer.concat([Buffer.from([0xff, 0x00, 0x80]), Buffer.from('[secret K]'), Buffer.from([0xfe])]),
  );
  const clean = Buffer.from([1, 2, 0xff]);
  expect(bytes(clean)).toEqual(clean);
});

test('security 18: base64 and hex that a tool broke into lines hide no secret, whole, in pieces or as bytes', () => {
  const value = 'canary-4711-0123456789-abcdefghijklmnop-qrstuvwxyz-ABCDEFGHIJKLMNOP';
  const secrets = new Map([['TOKEN', value]]);
  const { text, stream, bytes: ofBytes } = redactor(secrets);
  const inLines = (code: string, width: number) => code.replace(new RegExp(`.{${width}}`, 'g'), '$&\n');
  for (const before of ['', 'A=1\nB=some other value\nTOKEN=', 'x'.repeat(40)]) {
    const bytes = Buffer.from(`${before}${value}\n`);
    for (const said of [inLines(bytes.toString('base64'), 76), inLines(bytes.toString('hex'), 60)]) {
      let streamed = '';
      const { write, end } = stream((piece) => {
        streamed += piece;
      });
      for (const sign of said) write(sign);
      end();
      for (const out of [text(said), streamed, ofBytes(Buffer.from(said)).toString()]) {
        expect(out).toContain('[secret TOKEN]');
        const left = out
          .replaceAll('\n', '')
          .split('[secret TOKEN]')
          .map((part) => Buffer.from(part, said.includes('=') ? 'base64' : 'hex').toString());
        expect(left.join(' ')).not.toMatch(/canary|4711|abcdef|QRST|MNOP/);
      }
    }
  }
});

test('a secret as long as a private key costs little to look for: in eight times the text about eight times as much', async () => {
  // No line is another's, as in a real key: each has forms of its own to look for.
  const line = (n: number) => `${createHash('sha512').update(`${n}`).digest('base64').slice(0, 64)}\n`;
  const key = `-----BEGIN KEY-----\n${Array.from({ length: 28 }, (_, n) => line(n)).join('')}-----END KEY-----`;
  const look = (words: number, secret: string) => () => {
    const { text } = redactor(new Map([['KEY', secret]]));
    const said = `${'some words '.repeat(words)}${Buffer.from(secret).toString('base64')}`;
    expect(text(said)).toContain('[secret KEY]');
  };
  await expectCpu(look(90_000, key), { atMost: 24, unit: cpuUnit(look(11_250, key)) });
  // Against the few forms of one line of it.
  await expectCpu(look(90_000, key), { atMost: 12, unit: cpuUnit(look(90_000, line(0))) });
});

test('a secret that nearly overlaps itself costs as little where it is found as any other of its length', async () => {
  const length = 8_000;
  const look = (secret: string) => {
    const { text } = redactor(new Map([['KEY', secret]]));
    return () => expect(text(`<${secret}>`)).toBe('<[secret KEY]>');
  };
  const other = createHash('sha512')
    .update('other')
    .digest('hex')
    .repeat(100)
    .slice(0, length - 1);
  await expectCpu(look(`${'a'.repeat(length)}b`), { atMost: 16, unit: cpuUnit(look(`${other}z`)) });
});
