import { expect, test } from 'vitest';
import { readMail } from '../../src/triggers/inbox/read-mail.js';

test.each<[string, string, string]>([
  ['a form', 'application/x-www-form-urlencoded; charset=iso-8859-1', 'from=a%40b.test&text=caf%E9'],
  [
    'a form that names them twice',
    'application/x-www-form-urlencoded; charset=iso-8859-1',
    'from=a%40b.test&text=caf%E9&charsets=%7B%22text%22%3A%22iso-8859-1%22%7D',
  ],
  ['JSON', 'application/json; charset=iso-8859-1', '{"from":"a@b.test","text":"caf\xe9"}'],
  [
    'JSON that names no charset',
    'application/json',
    Buffer.from('{"from":"a@b.test","text":"café"}').toString('latin1'),
  ],
])('a mail is read from %s, in the charset that it names', async (_name, type, bytes) => {
  expect((await readMail({ type, body: Buffer.from(bytes, 'latin1') })).text).toBe('café');
});

const encodedWord = (text: string) => `=?iso-8859-1?Q?${text}?=`;

test.each<[string, string, string]>([
  ['iso-8859-1', '=93caf=E9=94 =80', '“café” €'],
  ['us-ascii', 'caf=C3=A9', 'café'],
  ['"ISO-8859-16"', '=AA', 'Ș'],
  ['koi8-u', '=AE=BE', 'ўЎ'],
  ['win-1251', '=E6', 'ж'],
  ['utf-7', '+ADw-', '+ADw-'],
  ['gb2312', '=D6=D0', '中'],
  ['none', 'caf=C3=A9', 'café'],
])('a raw mail in %s is read by the tables of the standard, its headers too', async (charset, escaped, text) => {
  const mail = [
    `From: ${encodedWord('=93A=94')} <a@b.test>`,
    `To: ${encodedWord('=93B=94')} <b@b.test>`,
    `Subject: ${encodedWord('=80_5')}`,
    `Content-Type: text/plain; charset=${charset}`,
    'Content-Transfer-Encoding: quoted-printable',
    '',
    escaped,
  ].join('\r\n');
  const read = await readMail({ type: 'message/rfc822', body: Buffer.from(mail) });
  expect([read.text.trim(), read.from, read.to, read.subject]).toEqual([
    text,
    '"“A”" <a@b.test>',
    '"“B”" <b@b.test>',
    '€ 5',
  ]);
});

test('a mail as JSON in no charset that is known is read by the most common one, and not damaged', async () => {
  const body = Buffer.from('{"from":"a@b.test","text":"\x93caf\xe9\x94"}', 'latin1');
  expect((await readMail({ type: 'application/json', body })).text).toBe('“café”');
});
