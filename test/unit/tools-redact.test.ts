import fc from 'fast-check';
import { expect, test } from 'vitest';
import { redactor } from '../../src/shared/redact.js';
import { cpuMs } from '../support/cpu-ms.js';

const secret = fc
  .string({ minLength: 6, maxLength: 60, unit: 'grapheme' })
  .filter((text) => text.trim().length >= 6 && !/secret|TOKEN|[\r\n]/.test(text));
const base64 = (text: string) => Buffer.from(text, 'utf8').toString('base64');

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

test('security 18: a secret that comes in pieces is found, and nothing else is held back or changed', () => {
  fc.assert(
    fc.property(
      secret,
      fc.string(),
      fc.string(),
      fc.array(fc.nat(), { maxLength: 8 }),
      (value, before, after, cuts) => {
        const { text, stream } = redactor(new Map([['TOKEN', value]]));
        const whole = `${before}${value}${after}`;
        let out = '';
        const { write, end } = stream((piece) => {
          out += piece;
        });
        for (const piece of pieces(whole, cuts)) write(piece);
        end();
        expect(out).not.toContain(value);
        if (!before.includes(value[0] ?? '') && !after.includes(value[0] ?? '')) expect(out).toBe(text(whole));
      },
    ),
  );
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

test('a secret as long as a private key costs little to look for', () => {
  const key = `-----BEGIN KEY-----\n${'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj+/\n'.repeat(28)}-----END KEY-----`;
  const begun = cpuMs();
  const { text } = redactor(new Map([['KEY', key]]));
  expect(text(`${'some words '.repeat(90_000)}${Buffer.from(key).toString('base64')}`)).toContain('[secret KEY]');
  expect(cpuMs() - begun).toBeLessThan(2_000);
});
