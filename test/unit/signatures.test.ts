import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { SignatureKind, Signed } from '../../src/triggers/signatures/contract.js';
import { isSigned } from '../../src/triggers/signatures/index.js';
import { fc } from '../support/properties.js';

type Headers = Readonly<Record<string, string>>;
const NOW_S = 1_614_265_330;

function delivery(headers: Headers, more: Partial<Signed> = {}): Signed {
  return {
    header: (name) => headers[name],
    body: Buffer.from('Hello, World!'),
    secret: "It's a Secret to Everybody",
    nowMs: NOW_S * 1000,
    ...more,
  };
}

const HELLO = '757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
const hex = (secret: string | Buffer, text: string) => createHmac('sha256', secret).update(text).digest('hex');
const STANDARD = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  body: Buffer.from('{"test": 2432232314}'),
};
const standard: Headers = {
  'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  'webhook-timestamp': String(NOW_S),
  'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
};
// RFC 4231, test case 2.
const RFC = { secret: 'Jefe', body: Buffer.from('what do ya want for nothing?') };
const RFC_HEX = '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843';

describe('security 9: whoever has the secret is let in, and nobody else', () => {
  const stripe = (t: number, ...macs: string[]) => ({
    'stripe-signature': [`t=${t}`, ...macs.map((mac) => `v1=${mac}`), 'v0=ff'].join(','),
  });
  const stripeMac = (t: number) => hex("It's a Secret to Everybody", `${t}.Hello, World!`);
  const slack = (t: number) => ({
    'x-slack-request-timestamp': String(t),
    'x-slack-signature': `v0=${hex("It's a Secret to Everybody", `v0:${t}:Hello, World!`)}`,
  });

  test.each<[string, SignatureKind, Headers, Partial<Signed>, boolean]>([
    ['the public vector', 'code_host', { 'x-hub-signature-256': `sha256=${HELLO}` }, {}, true],
    ['upper-case hex', 'code_host', { 'x-hub-signature-256': `sha256=${HELLO.toUpperCase()}` }, {}, true],
    ['no prefix', 'code_host', { 'x-hub-signature-256': HELLO }, {}, false],
    ['sha1 alone', 'code_host', { 'x-hub-signature': 'sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59' }, {}, false],
    ['no header', 'code_host', {}, {}, false],
    ['another body', 'code_host', { 'x-hub-signature-256': `sha256=${HELLO}` }, { body: Buffer.from('hello') }, false],
    ['cut short', 'code_host', { 'x-hub-signature-256': `sha256=${HELLO.slice(0, 40)}` }, {}, false],
    [
      'an empty secret',
      'code_host',
      { 'x-hub-signature-256': `sha256=${hex('', 'Hello, World!')}` },
      { secret: '' },
      false,
    ],
    ['one good of two', 'payment', stripe(NOW_S, '00'.repeat(32), stripeMac(NOW_S)), {}, true],
    ['300 s old', 'payment', stripe(NOW_S - 300, stripeMac(NOW_S - 300)), {}, true],
    ['301 s old', 'payment', stripe(NOW_S - 301, stripeMac(NOW_S - 301)), {}, false],
    ['301 s ahead', 'payment', stripe(NOW_S + 301, stripeMac(NOW_S + 301)), {}, false],
    ['v0 alone', 'payment', { 'stripe-signature': `t=${NOW_S},v0=${stripeMac(NOW_S)}` }, {}, false],
    ['the time of another', 'payment', stripe(NOW_S, stripeMac(NOW_S - 1)), {}, false],
    ['two times', 'payment', { 'stripe-signature': `t=${NOW_S},t=1,v1=${stripeMac(NOW_S)}` }, {}, false],
    ['now', 'chat', slack(NOW_S), {}, true],
    ['301 s old', 'chat', slack(NOW_S - 301), {}, false],
    ['301 s ahead', 'chat', slack(NOW_S + 301), {}, false],
    ['no time', 'chat', { 'x-slack-signature': slack(NOW_S)['x-slack-signature'] }, {}, false],
    ['RFC 4231 in hex', 'hmac', { 'x-signature': RFC_HEX }, RFC, true],
    ['RFC 4231 in base64', 'hmac', { 'x-signature': Buffer.from(RFC_HEX, 'hex').toString('base64') }, RFC, true],
    ['its own header', 'hmac', { 'x-acme': `sha256=${RFC_HEX}` }, { ...RFC, signatureHeader: 'X-Acme' }, true],
    ['another header', 'hmac', { 'x-signature': RFC_HEX }, { ...RFC, signatureHeader: 'X-Acme' }, false],
    ['Standard Webhooks', 'hmac', standard, STANDARD, true],
    ['Standard Webhooks', 'code_host', standard, STANDARD, true],
    [
      'one of a list',
      'hmac',
      { ...standard, 'webhook-signature': `v1a,x v1,AAAA ${standard['webhook-signature']}` },
      STANDARD,
      true,
    ],
    ['Standard, 301 s later', 'hmac', standard, { ...STANDARD, nowMs: (NOW_S + 301) * 1000 }, false],
    ['Standard, 301 s early', 'hmac', standard, { ...STANDARD, nowMs: (NOW_S - 301) * 1000 }, false],
    ['Standard, another id', 'hmac', { ...standard, 'webhook-id': 'msg_x' }, STANDARD, false],
    ['two of its headers', 'hmac', { ...standard, 'webhook-id': undefined as unknown as string }, STANDARD, false],
  ])('%s (%s)', (_name, kind, headers, more, good) => {
    expect(isSigned(kind, delivery(headers, more))).toBe(good);
  });

  test('a Standard secret that decodes to nothing opens to nobody', () => {
    const forged = createHmac('sha256', '').update(`m.${NOW_S}.Hello, World!`).digest('base64');
    const headers = { 'webhook-id': 'm', 'webhook-timestamp': String(NOW_S), 'webhook-signature': `v1,${forged}` };
    for (const secret of ['whsec_', 'whsec_=', '!', 'a'])
      expect(isSigned('hmac', delivery(headers, { secret }))).toBe(false);
  });

  test('no header that anybody can think of is a signature', () => {
    const names = [
      'x-hub-signature-256',
      'stripe-signature',
      'x-slack-signature',
      'x-signature',
      ...Object.keys(standard),
    ];
    const headers = fc.dictionary(fc.constantFrom(...names), fc.string({ unit: 'binary', maxLength: 120 }));
    fc.assert(
      fc.property(headers, fc.constantFrom('code_host', 'payment', 'chat', 'hmac'), (given, kind) => {
        expect(isSigned(kind, delivery({ 'x-slack-request-timestamp': String(NOW_S), ...given }))).toBe(false);
      }),
    );
  });
});
