import { expect, test } from 'vitest';
import { readMail } from '../../src/triggers/inbox/read-mail.js';

const mailWith = (attachments: readonly object[]) => ({
  type: 'application/json',
  body: Buffer.from(JSON.stringify({ from: 'a@b.test', attachments })),
});

test.each<[string, unknown, string | null]>([
  ['lines', 'aGVs\r\nbG8=\r\n', 'hello'],
  ['no padding', 'aGVsbG8', 'hello'],
  ['the other alphabet', Buffer.from([0xfb, 0xff]).toString('base64url'), Buffer.from([0xfb, 0xff]).toString()],
  ['nothing in it', '', ''],
  ['other signs', 'aGVs!G8=', null],
  ['plain text', 'This is text.', null],
  ['padding within', 'aGk=aGk=', null],
  ['three pads', 'aGVsbA===', null],
  ['one digit too many', 'aGVsb', null],
  ['a number', 7, null],
])('a file whose base64 has %s', async (_name, content, text) => {
  const { attachments, leftOut } = await readMail(mailWith([{ name: 'a', content }]));
  expect(attachments.map((one) => Buffer.from(one.content).toString())).toEqual(text === null ? [] : [text]);
  expect(leftOut).toEqual(text === null ? [expect.stringMatching(/^attachment a was left out: it/)] : []);
});
