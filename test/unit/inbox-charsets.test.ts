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
