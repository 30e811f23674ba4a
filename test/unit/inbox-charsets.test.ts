import { describe, expect, test } from 'vitest';
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

/** Bytes of one character each. */
const rawMail = (...lines: string[]) => ({ type: 'message/rfc822', body: Buffer.from(lines.join('\r\n'), 'latin1') });
const utf8 = (text: string) => Buffer.from(text).toString('latin1');

describe('a part that names ASCII or no charset is UTF-8 where it can be, else windows-1252', () => {
  test.each([
    ['ASCII', 'Content-Type: text/plain; charset=us-ascii'],
    ['ASCII in quotes', 'Content-Type: text/plain; charset="US-ASCII"'],
    ['ASCII by another name', 'Content-Type: text/plain; charset=ANSI_X3.4-1968'],
    ['no charset', 'Content-Type: text/plain'],
    ['no type', 'X-Other: 1'],
    ['an unknown charset', 'Content-Type: text/plain; charset=unknown-8bit'],
    ['flowed text', 'Content-Type: text/plain; charset=us-ascii; format=flowed'],
  ])('%s', async (_name, type) => {
    const headers = ['From: a@b.test', 'To: b@b.test', 'Subject: x', type, 'Content-Transfer-Encoding: 8bit', ''];
    const texts = ['\x93caf\xe9\x94 5 \x80', utf8('“café” 5 € 中'), 'cafe'];
    const read = await Promise.all(texts.map((bytes) => readMail(rawMail(...headers, bytes))));
    expect(read.map(({ text }) => text.trim())).toEqual(['“café” 5 €', '“café” 5 € 中', 'cafe']);
  });

  test('each part of a mail with several, and HTML', async () => {
    const mail = rawMail(
      'From: a@b.test',
      'To: b@b.test',
      'Subject: x',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/html; charset=us-ascii',
      '',
      '<p>caf\xe9 \x80</p>',
      '--b',
      'Content-Type: application/octet-stream; charset=us-ascii; name=a.bin',
      'Content-Disposition: attachment; filename=a.bin',
      '',
      'caf\xe9',
      '--b--',
    );
    const read = await readMail(mail);
    expect(read.text.trim()).toBe('café €');
    expect(read.attachments.map(({ name, content }) => [name, Buffer.from(content).toString('latin1').trim()])).toEqual(
      [['a.bin', 'caf\xe9']],
    );
  });
});

describe('encoded words are read by the tables of the standard', () => {
  const b64 = (bytes: string) => Buffer.from(bytes, 'latin1').toString('base64');
  test.each([
    ['windows-1252', '=93caf=E9=94_=80', '\x93caf\xe9\x94 \x80', '“café” €'],
    ['iso-8859-1', '=93caf=E9=94_=80', '\x93caf\xe9\x94 \x80', '“café” €'],
    ['us-ascii', '=93caf=E9=94_=80', '\x93caf\xe9\x94 \x80', '“café” €'],
    ['us-ascii', 'caf=C3=A9', 'caf\xc3\xa9', 'café'],
    ['unknown-8bit', 'caf=E9', 'caf\xe9', 'café'],
    ['iso-8859-15', '=A4_=BD', '\xa4 \xbd', '€ œ'],
    ['koi8-r', '=EE=C5=D4', '\xee\xc5\xd4', 'Нет'],
    ['koi8-u', '=AE', '\xae', 'ў'],
    ['win-1251', '=E6', '\xe6', 'ж'],
    ['gb18030', '=81=30=89=38_=D6=D0', '\x81\x30\x89\x38 \xd6\xd0', 'ß 中'],
    ['gb2312', '=D6=D0', '\xd6\xd0', '中'],
    ['big5', '=A4=A4', '\xa4\xa4', '中'],
    ['shift_jis', '=93=FA=96=7B', '\x93\xfa\x96\x7b', '日本'],
    ['iso-2022-jp', '=1B=24BF=7CK=5C=1B=28B', '\x1b$BF|K\\\x1b(B', '日本'],
    ['euc-kr', '=C7=D1', '\xc7\xd1', '한'],
    ['x-mac-cyrillic', '=80', '\x80', 'А'],
    ['windows-874', '=A1', '\xa1', 'ก'],
    ['utf-8*en', 'caf=C3=A9', 'caf\xc3\xa9', 'café'],
    ['utf-7', '+ADw-', '+ADw-', '+ADw-'],
  ])('%s %s', async (charset, quoted, bytes, text) => {
    const words = [`=?${charset}?Q?${quoted}?=`, `=?${charset}?B?${b64(bytes)}?=`];
    for (const word of words) {
      const mail = rawMail(`From: ${word} <a@b.test>`, 'To: b@b.test', `Subject: ${word}`, '', 'x');
      const { subject, from } = await readMail(mail);
      expect([subject, from]).toEqual([text, `"${text}" <a@b.test>`]);
    }
  });

  test('a character that is split between two words', async () => {
    const mail = rawMail('From: a@b.test', 'To: b@b.test', 'Subject: =?gb18030?B?1g==?= =?gb18030?B?0A==?=', '', 'x');
    expect((await readMail(mail)).subject).toBe('中');
  });
});
