import { expect, test } from 'vitest';
import { monthAt } from '../../src/shared/month.js';
import { fc } from '../support/properties.js';

test.each([
  ['2026-11-28T12:00:00Z', 'UTC', '2026-11', '2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z'],
  ['2026-12-31T23:30:00Z', 'Europe/Vienna', '2027-01', '2026-12-31T23:00:00Z', '2027-01-31T23:00:00Z'],
  // The clocks go back within it.
  ['2026-10-25T12:00:00Z', 'Europe/Vienna', '2026-10', '2026-09-30T22:00:00Z', '2026-10-31T23:00:00Z'],
  ['2026-01-01T04:00:00Z', 'America/New_York', '2025-12', '2025-12-01T05:00:00Z', '2026-01-01T05:00:00Z'],
  ['2026-03-01T00:00:00Z', 'Asia/Kathmandu', '2026-03', '2026-02-28T18:15:00Z', '2026-03-31T18:15:00Z'],
  ['2026-03-01T00:00:00Z', 'Mars/Olympus', '2026-03', '2026-03-01T00:00:00Z', '2026-04-01T00:00:00Z'],
])('%s in %s is in %s, which is from %s to %s', (now, zone, name, start, end) => {
  const month = monthAt(Date.parse(now), zone);
  expect([month.name, month.startMs, month.endMs]).toEqual([name, Date.parse(start), Date.parse(end)]);
});

test('every moment is in its month, and months follow one another without a gap, whatever the zone', () => {
  const zones = ['UTC', 'Europe/Vienna', 'America/Sao_Paulo', 'Asia/Kolkata', 'Pacific/Apia', 'Australia/Lord_Howe'];
  const moments = fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2060, 0, 1) });
  fc.assert(
    fc.property(moments, fc.constantFrom(...zones), (now, zone) => {
      const month = monthAt(now, zone);
      expect(month.startMs <= now && now < month.endMs).toBe(true);
      expect(monthAt(month.endMs, zone).startMs).toBe(month.endMs);
      expect(monthAt(month.startMs - 1, zone).endMs).toBe(month.startMs);
    }),
  );
});
