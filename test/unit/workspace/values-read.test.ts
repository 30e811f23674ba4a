import { expect, test } from 'vitest';
import { readCron } from '../../../src/format/values/cron.js';
import { parseMoney } from '../../../src/format/values/money.js';
import { compilePattern } from '../../../src/format/values/pattern.js';
import { isTimeZone } from '../../../src/format/values/time-zone.js';
import { closest } from '../../../src/shared/closest.js';

test.each<[unknown, number | undefined]>([
  ['0.80', 0.8],
  ['$1.50', 1.5],
  [' 60 ', 60],
  [0, 0],
  [2.5, 2.5],
  ['', undefined],
  ['-1', undefined],
  [-1, undefined],
  ['1e3', undefined],
  ['1.', undefined],
  ['.5', undefined],
  ['1,50', undefined],
  ['$ 1', undefined],
  ['1 USD', undefined],
  [Number.NaN, undefined],
  [Number.POSITIVE_INFINITY, undefined],
  [null, undefined],
  ['1.0000000001', undefined],
])('money: %j is %j', (value, expected) => expect(parseMoney(value)).toBe(expected));

test.each(['30 8 * * 1', '*/5 * * * *', '0 0 29 2 *', '0 9 * * MON-FRI', '0 0 L * *', '0 0 30 2 1', '0 8,12 1-7 * *'])(
  'cron: %s is taken',
  (cron) => expect(readCron(cron)).toEqual({ ok: true, cron }),
);

test('cron: blanks are folded', () => expect(readCron('  30  8 *\t* 1 ')).toEqual({ ok: true, cron: '30 8 * * 1' }));

test.each([
  ['0 0 31 2 *', 'never comes'],
  ['0 0 30 2 *', 'never comes'],
  ['* * * * * *', 'no seconds'],
  ['0 0 1 1 * 2030 1', 'has 7 fields'],
  ['@every 1s', 'five fields'],
  ['@daily', '0 0 * * *'],
  ['@reboot', 'five fields'],
  ['61 * * * *', 'not readable'],
  ['*/0 * * * *', 'not readable'],
  ['a b c d e', 'not readable'],
  ['2026-01-01T00:00:00Z', 'has 1 field'],
  ['', 'has 0 fields'],
])('security 7: cron %j is refused with a reason', (cron, reason) => {
  expect(readCron(cron)).toMatchObject({ ok: false, message: expect.stringContaining(reason) });
});

test.each([
  ['Europe/Warsaw', true],
  ['UTC', true],
  ['America/Argentina/Buenos_Aires', true],
  ['Etc/GMT+1', true],
  ['Mars/Olympus', false],
  ['+02:00', false],
  ['', false],
  ['Europe/Warsaw ', false],
  ['x'.repeat(100), false],
])('time zone: %j is %j', (name, expected) => expect(isTimeZone(name)).toBe(expected));

test.each([
  ['trigerr', 'trigger'],
  ['Trigger', 'trigger'],
  ['on_bugdet', 'on_budget'],
  ['tag', 'tags'],
  ['xyz', undefined],
  ['', undefined],
  ['something_else', undefined],
])('the nearest word to %j is %j', (word, expected) => {
  expect(closest(word, ['trigger', 'on_budget', 'tags'])).toBe(expected);
});

test('a pattern is RE2 and of bounded size', () => {
  expect(compilePattern('^a+$').test('aaa')).toBe(true);
  for (const bad of [
    '(?=a)',
    '(a',
    '\\1',
    'a{1001}',
    'x'.repeat(1_001),
    '([a-z]{500}){1,2}(b{900}){1}(c{900})(d{900})(e{900})(f{900})(g{900})',
  ]) {
    expect(() => compilePattern(bad)).toThrow();
  }
});
