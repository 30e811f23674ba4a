import { expect, test } from 'vitest';
import { needsTls } from '../../src/notify/mail.js';

test.each([
  ['smtp://u:p@mail.example.com:587', true],
  ['smtp://u:p@192.0.2.7', true],
  ['smtp://u@127.0.0.1.example.com', true],
  ['smtp://u:p@localhost:2525', false],
  ['smtp://u:p@127.0.0.1:2525', false],
  ['smtp://u:p@[::1]:2525', false],
  ['smtp://mail.example.com', false],
  ['smtps://u:p@mail.example.com', false],
])('%s: a password crosses no network in the clear (STARTTLS needed: %s)', (url, needed) => {
  expect(needsTls(url)).toBe(needed);
});
