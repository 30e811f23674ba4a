import { expect, test } from 'vitest';
import { baseUrlOf } from '../../src/shared/base-url.js';

test.each([
  ['127.0.0.1', 'http://127.0.0.1:4747'],
  ['::1', 'http://[::1]:4747'],
  ['0.0.0.0', 'http://127.0.0.1:4747'],
  ['::', 'http://[::1]:4747'],
  ['box.internal', 'http://box.internal:4747'],
])('links of a service that listens on %s and has no public address lead to %s', (host, url) => {
  expect(baseUrlOf({ publicUrl: null, host, port: 4747 })).toBe(url);
  expect(new URL(url).port).toBe('4747');
  expect(baseUrlOf({ publicUrl: 'https://box.example.com', host, port: 4747 })).toBe('https://box.example.com');
});
