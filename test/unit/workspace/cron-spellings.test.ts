import { Cron } from 'croner';
import { describe, expect, test } from 'vitest';
import { cronTimes, nextTimes } from '../../../src/format/cron/times.js';
import { dueTimes } from '../../../src/triggers/schedules/due-times.js';
import { fc, runs } from '../../support/properties.js';
import { check } from './tree.js';

const NOON = Date.UTC(2026, 10, 29, 12);

/** The cron line of the plan that is deployed; null when the deploy is refused. */
function deployed(cron: string): { readonly cron: string | null; readonly codes: readonly string[] } {
  const { workspace, issues } = check({
    'agents/worker.md': '---\ndescription: Works.\n---\n\nWork.',
    'flows/f.md': `---\ntrigger: schedule\ncron: ${JSON.stringify(cron)}\n---\n\n## One @worker\n\nGo.`,
  });
  const trigger = workspace?.plans['flows/f']?.trigger as { cron?: string } | undefined;
  return { cron: trigger?.cron ?? null, codes: issues.map(({ code }) => code) };
}

/** What croner alone says, whose reading of minutes and hours we do not use. */
function reference(cron: string, after: number): number[] {
  const [, , day = '', , weekday = ''] = cron.trim().split(/\s+/);
  const domAndDow = /^[*?]/.test(day) || /^[*?]/.test(weekday);
  const dates = new Cron(cron.trim().replace(/\s+/g, ' '), {
    mode: '5-part',
    timezone: 'UTC',
    paused: true,
    domAndDow,
  });
  return dates.nextRuns(3, new Date(after)).map((at) => at.getTime());
}

test.each([
  '30 8  * * 1-5',
  '30\t8 * * 1-5',
  ' 30 8 * * 1-5 ',
  '30 8 * *\u00A01-5',
  '30 8 * *\n1-5',
  '30 8 * * mon-fri',
])('a line with any white space is one with a single blank: %j', (cron) => {
  const { cron: kept } = deployed(cron);
  expect(kept).toMatch(/^30 8 \* \* (1-5|mon-fri)$/);
  // A row of an older release holds it as it was written.
  for (const line of [kept ?? '', cron])
    expect(nextTimes({ cron: line, timezone: 'UTC' }, NOON, 2)).toEqual([
      Date.UTC(2026, 10, 30, 8, 30),
      Date.UTC(2026, 11, 1, 8, 30),
    ]);
});

const number = fc.nat(70).map(String);
const part = fc.oneof(
  number,
  number.map((at) => at.padStart(2, '0')),
  fc.tuple(number, number).map(([from, to]) => `${from}-${to}`),
  fc.tuple(fc.constantFrom('*', '0-20', '5', '?', '1-7', ''), number).map(([range, step]) => `${range}/${step}`),
  fc.constantFrom('*', '?', 'L', '', '1.5', '0x5', '-1', '+5', 'H', '*-5', 'MON', 'jan', 'sun-tue', '5#2', '15W', 'LW'),
);
const field = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(','));
const blank = fc.constantFrom(' ', '  ', '\t', ' \t ', '\u00A0', '\n');
const plain = fc.constantFrom('*', '*', '0', '5', '1', '*/5', '1-5', '0,30');
const line = fc
  .tuple(
    fc.array(fc.oneof({ weight: 4, arbitrary: plain }, { weight: 1, arbitrary: field }), {
      minLength: 5,
      maxLength: 5,
    }),
    fc.array(blank, { minLength: 6, maxLength: 6 }),
  )
  .map(([fields, blanks]) => fields.map((text, at) => `${text}${at < 4 ? blanks[at] : ''}`).join(''));

test('what deploys fires as its next times say, in every spelling; all else is refused by its code', () => {
  const property = fc.property(line, (written) => {
    const { cron, codes } = deployed(written);
    if (cron === null) {
      expect(codes).toEqual(['flow/bad-cron']);
      return;
    }
    const next = nextTimes({ cron, timezone: 'UTC' }, NOON, 3);
    expect(next).toEqual(reference(written, NOON));
    expect(nextTimes({ cron: written, timezone: 'UTC' }, NOON, 3)).toEqual(next);
    const [first = 0] = next;
    const schedule = { cron, timezone: 'UTC', catchUp: 'last', overlap: 'skip', settledUntil: new Date(NOON) } as const;
    expect(dueTimes(schedule, first).start).toEqual([first]);
    expect(dueTimes(schedule, first - 1).start).toEqual([]);
  });
  fc.assert(property, runs(400));
});

describe('a line that no deploy lets through is an error, and never an endless loop', () => {
  test.each(['', '30 8', '*/0 * * * *', '70 8 * * *', '5/15 * * * *', '9-3 * * * *', 'x y * * *', '* * 99 * *'])(
    '%j',
    (cron) => {
      expect(() => cronTimes(cron, 'UTC', NOON).next()).toThrow();
    },
  );
});
