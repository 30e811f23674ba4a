import { beforeAll, describe, expect, test } from 'vitest';
import { cronTimes, nextTimes } from '../../../src/format/cron/times.js';
import { type Calendar, type Reference, referenceTimes, type Walk, walkZone } from '../../support/cron-reference.js';
import { TIMES } from '../../support/exploring.js';

const range = (from: number, to: number, step = 1): number[] =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, at) => from + at * step);
const on =
  (...weekdays: number[]) =>
  ({ weekday }: Calendar) =>
    weekdays.includes(weekday);
const day =
  (...days: number[]) =>
  (date: Calendar) =>
    days.includes(date.day);
const WORK = on(1, 2, 3, 4, 5);

/** Forty lines, each with what it names, in words of its own. */
const LINES: readonly Reference[] = [
  { cron: '* * * * *' },
  { cron: '*/5 * * * *', minute: range(0, 59, 5) },
  { cron: '*/15 * * * *', minute: [0, 15, 30, 45] },
  { cron: '0 * * * *', minute: [0] },
  { cron: '30 * * * *', minute: [30] },
  { cron: '7,37 0-23 * * *', minute: [7, 37] },
  { cron: '59 * * * 0', minute: [59], date: on(0) },
  { cron: '0 * 1 * *', minute: [0], date: day(1) },
  { cron: '10 * 25 10 *', minute: [10], date: ({ month, day: at }) => month === 10 && at === 25 },
  { cron: '0 0 * * *', minute: [0], hour: [0] },
  { cron: '30 0 * * *', minute: [30], hour: [0] },
  { cron: '0 1 * * *', minute: [0], hour: [1] },
  { cron: '30 1 * * *', minute: [30], hour: [1] },
  { cron: '0 2 * * *', minute: [0], hour: [2] },
  { cron: '15 2 * * *', minute: [15], hour: [2] },
  { cron: '30 2 * * *', minute: [30], hour: [2] },
  { cron: '0 3 * * *', minute: [0], hour: [3] },
  { cron: '59 23 * * *', minute: [59], hour: [23] },
  { cron: '*/20 2 * * *', minute: [0, 20, 40], hour: [2] },
  { cron: '*/15 1-3 * * *', minute: [0, 15, 30, 45], hour: [1, 2, 3] },
  { cron: '0 */2 * * *', minute: [0], hour: range(0, 22, 2) },
  { cron: '0 */6 * * *', minute: [0], hour: [0, 6, 12, 18] },
  { cron: '5 0-12/3 * * *', minute: [5], hour: [0, 3, 6, 9, 12] },
  { cron: '*/30 8-18 * * 1-5', minute: [0, 30], hour: range(8, 18), date: WORK },
  { cron: '30 8 * * 1', minute: [30], hour: [8], date: on(1) },
  { cron: '0 9 * * MON-FRI', minute: [0], hour: [9], date: WORK },
  { cron: '30 2 * * SUN', minute: [30], hour: [2], date: on(0) },
  { cron: '30 2 * * 7', minute: [30], hour: [2], date: on(0) },
  { cron: '0 12 * * 6,0', minute: [0], hour: [12], date: on(6, 0) },
  { cron: '0 9 1 * *', minute: [0], hour: [9], date: day(1) },
  { cron: '0 9 1,15 * *', minute: [0], hour: [9], date: day(1, 15) },
  { cron: '0 9 1 * 1', minute: [0], hour: [9], date: (date) => date.day === 1 || date.weekday === 1 },
  { cron: '0 0 13 * 5', minute: [0], hour: [0], date: (date) => date.day === 13 || date.weekday === 5 },
  { cron: '0 9 */10 * 1', minute: [0], hour: [9], date: (date) => date.day % 10 === 1 && date.weekday === 1 },
  { cron: '0 9 1-7 * */7', minute: [0], hour: [9], date: (date) => date.day <= 7 && date.weekday === 0 },
  { cron: '0 6 31 * *', minute: [0], hour: [6], date: day(31) },
  { cron: '0 6 L * *', minute: [0], hour: [6], date: (date) => date.day === date.last },
  { cron: '0 6 * * 2#1', minute: [0], hour: [6], date: (date) => date.weekday === 2 && date.day <= 7 },
  { cron: '0 0 1 JAN,JUL *', minute: [0], hour: [0], date: ({ month, day: at }) => at === 1 && month % 6 === 1 },
  { cron: '45 23 31 12 *', minute: [45], hour: [23], date: ({ month, day: at }) => month === 12 && at === 31 },
];

/** Gaps at 2:00, at 1:00 UTC, at midnight, of half an hour, on the other half of the year, and none. */
const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Africa/Cairo',
  'Australia/Lord_Howe',
  'America/Santiago',
  'Asia/Kolkata',
];
const START = Date.UTC(2026, 0, 1);
const END = Date.UTC(2027, 0, 1);

/** How often each line fires in the year, by zone in the order above: what the reference and the product agree on. */
const TABLE: Readonly<Record<string, readonly number[]>> = {
  '* * * * *': [525600, 525600, 525600, 525600, 525600, 525600],
  '*/5 * * * *': [105120, 105120, 105120, 105120, 105120, 105120],
  '*/15 * * * *': [35040, 35040, 35040, 35040, 35040, 35040],
  '0 * * * *': [8760, 8760, 8760, 8759, 8760, 8760],
  '30 * * * *': [8760, 8760, 8760, 8761, 8760, 8760],
  '7,37 0-23 * * *': [17520, 17520, 17520, 17520, 17520, 17520],
  '59 * * * 0': [1248, 1248, 1248, 1249, 1247, 1248],
  '0 * 1 * *': [288, 289, 288, 288, 288, 288],
  '10 * 25 10 *': [25, 24, 24, 24, 24, 24],
  '0 0 * * *': [365, 365, 365, 365, 365, 365],
  '30 0 * * *': [365, 365, 365, 365, 365, 365],
  '0 1 * * *': [365, 365, 365, 365, 365, 365],
  '30 1 * * *': [365, 365, 365, 365, 365, 365],
  '0 2 * * *': [365, 365, 365, 365, 365, 365],
  '15 2 * * *': [365, 365, 365, 365, 365, 365],
  '30 2 * * *': [365, 365, 365, 365, 365, 365],
  '0 3 * * *': [365, 365, 365, 365, 365, 365],
  '59 23 * * *': [365, 365, 365, 365, 365, 365],
  '*/20 2 * * *': [1093, 1093, 1095, 1094, 1095, 1095],
  '*/15 1-3 * * *': [4376, 4376, 4380, 4378, 4380, 4380],
  '0 */2 * * *': [4380, 4380, 4380, 4380, 4380, 4380],
  '0 */6 * * *': [1460, 1460, 1460, 1460, 1460, 1460],
  '5 0-12/3 * * *': [1825, 1825, 1825, 1825, 1825, 1825],
  '*/30 8-18 * * 1-5': [5742, 5742, 5742, 5742, 5742, 5742],
  '30 8 * * 1': [52, 52, 52, 52, 52, 52],
  '0 9 * * MON-FRI': [261, 261, 261, 261, 261, 261],
  '30 2 * * SUN': [52, 52, 52, 52, 52, 52],
  '30 2 * * 7': [52, 52, 52, 52, 52, 52],
  '0 12 * * 6,0': [104, 104, 104, 104, 104, 104],
  '0 9 1 * *': [12, 12, 12, 12, 12, 12],
  '0 9 1,15 * *': [24, 24, 24, 24, 24, 24],
  '0 9 1 * 1': [63, 63, 63, 63, 63, 63],
  '0 0 13 * 5': [62, 61, 62, 62, 61, 62],
  '0 9 */10 * 1': [5, 5, 5, 5, 5, 5],
  '0 9 1-7 * */7': [12, 12, 12, 12, 12, 12],
  '0 6 31 * *': [7, 7, 7, 7, 7, 7],
  '0 6 L * *': [12, 12, 12, 12, 12, 12],
  '0 6 * * 2#1': [12, 12, 12, 12, 12, 12],
  '0 0 1 JAN,JUL *': [2, 2, 2, 2, 2, 2],
  '45 23 31 12 *': [1, 1, 1, 1, 1, 1],
};

const walks = new Map<string, Walk>();
beforeAll(() => {
  for (const zone of ZONES) walks.set(zone, walkZone(zone, START, END));
});
function walkOf(zone: string): Walk {
  const walk = walks.get(zone);
  if (!walk) throw new Error(`no walk of ${zone}`);
  return walk;
}

function firings(cron: string, zone: string): number[] {
  const found: number[] = [];
  for (const at of cronTimes(cron, zone, START - 1)) {
    if (at >= END) break;
    found.push(at);
  }
  return found;
}

/** Half a million times are too many for a matcher. */
function firstDifference(found: readonly number[], expected: readonly number[]): object | null {
  for (let index = 0; index < Math.max(found.length, expected.length); index += 1) {
    const [one, other] = [found[index], expected[index]];
    if (one !== other)
      return { index, found: one && new Date(one).toISOString(), expected: other && new Date(other).toISOString() };
  }
  return null;
}

describe('security 7: a year of firings is what a walk over its minutes finds', () => {
  test.each(LINES)('$cron', (line) => {
    const all = TABLE[line.cron] ?? [];
    // A usual run of the tests walks over what fires all the time in two zones: with a gap of an hour, and of half one.
    const isLong = TIMES < 4 && (all[0] ?? 0) > 100_000;
    const zones = isLong ? ['Europe/Berlin', 'Australia/Lord_Howe'] : ZONES;
    const counts = zones.map((zone) => {
      const expected = referenceTimes(walkOf(zone), line);
      expect(firstDifference(firings(line.cron, zone), expected), zone).toBeNull();
      return expected.length;
    });
    expect(counts).toEqual(zones.map((zone) => all[ZONES.indexOf(zone)]));
  });
});

const iso = (cron: string, timezone: string, after: string, count: number) =>
  nextTimes({ cron, timezone }, Date.parse(after), count).map((at) => new Date(at).toISOString().slice(0, 16));

test.each([
  [
    'a daily job at a time that is left out runs at the moment after the gap',
    '30 2 * * *',
    '2026-03-28T12:00Z',
    ['2026-03-29T01:00', '2026-03-30T00:30'],
  ],
  [
    'a daily job at a time that comes twice runs at the first',
    '30 2 * * *',
    '2026-10-24T12:00Z',
    ['2026-10-25T00:30', '2026-10-26T01:30'],
  ],
  ['asked between the two, the second is none', '30 2 * * *', '2026-10-25T00:45Z', ['2026-10-26T01:30']],
  [
    'an hourly job runs each real hour of the gap',
    '0 * * * *',
    '2026-03-29T00:30Z',
    ['2026-03-29T01:00', '2026-03-29T02:00'],
  ],
  [
    'an hourly job runs each real hour of the hour that comes twice',
    '0 * * * *',
    '2026-10-24T23:30Z',
    ['2026-10-25T00:00', '2026-10-25T01:00', '2026-10-25T02:00'],
  ],
])('security 7: %s', (_says, cron, after, expected) => {
  expect(iso(cron, 'Europe/Berlin', after, expected.length)).toEqual(expected);
});

test('security 7: nothing fires twice within a minute, and from whatever moment it is asked the times are the same', () => {
  for (const { cron } of LINES) {
    const line = { cron, timezone: 'Europe/Berlin' };
    const all = nextTimes(line, Date.parse('2026-10-24T20:00Z'), 40);
    for (const [index, at] of all.slice(0, -1).entries()) {
      const after = all[index + 1] ?? 0;
      expect(after - at).toBeGreaterThanOrEqual(60_000);
      expect(nextTimes(line, at - 1, 2)).toEqual([at, after]);
      expect(nextTimes(line, at, 1)).toEqual([after]);
    }
  }
});

test('a line for February 29 waits for it, over eight years', () => {
  expect(iso('0 0 29 2 *', 'UTC', '2096-03-01T00:00Z', 1)).toEqual(['2104-02-29T00:00']);
});
