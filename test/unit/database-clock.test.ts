import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { keepDatabaseClock } from '../../src/platform/db/index.js';
import { silentLog } from '../support/silent-log.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const local = { now: () => Date.now() };

/** A database whose clock differs by so much, and which takes so long to say what it is. */
function database(aheadMs: () => number, takesMs = 0) {
  return {
    query: async <Row>() => {
      if (takesMs > 0) await vi.advanceTimersByTimeAsync(takesMs / 2);
      const answer = [{ ms: Date.now() + aheadMs() }];
      if (takesMs > 0) await vi.advanceTimersByTimeAsync(takesMs / 2);
      return answer as Row[];
    },
  };
}

test.each([90_000, -90_000])('times are those of the database, whose clock is %d ms ahead', async (aheadMs) => {
  const clock = await keepDatabaseClock(
    database(() => aheadMs),
    silentLog,
    local,
  );
  expect(clock.now()).toBe(Date.now() + aheadMs);
  vi.advanceTimersByTime(1_234);
  expect(clock.now()).toBe(Date.now() + aheadMs);
  await clock.close();
});

test('a difference that the reading’s own duration explains is ignored', async () => {
  const clock = await keepDatabaseClock(
    database(() => 400, 1_000),
    silentLog,
    local,
  );
  expect(clock.now()).toBe(Date.now());
  await clock.close();
});

test('the difference is read again, and stays while the database does not answer', async () => {
  let ahead = 5_000;
  const clock = await keepDatabaseClock(
    database(() => {
      if (ahead === 0) throw new Error('away');
      return ahead;
    }),
    silentLog,
    local,
  );
  ahead = 60_000;
  await vi.advanceTimersByTimeAsync(30_000);
  expect(clock.now()).toBe(Date.now() + 60_000);
  ahead = 0;
  await vi.advanceTimersByTimeAsync(30_000);
  expect(clock.now()).toBe(Date.now() + 60_000);
  await clock.close();
});

test('a slow reading that agrees with what is known does not move the clock', async () => {
  let takesMs = 0;
  const clock = await keepDatabaseClock(
    { query: <Row>() => database(() => 400, takesMs).query<Row>() },
    silentLog,
    local,
  );
  expect(clock.now()).toBe(Date.now() + 400);
  takesMs = 1_000;
  await vi.advanceTimersByTimeAsync(32_000);
  expect(clock.now()).toBe(Date.now() + 400);
  await clock.close();
});

test('a database that is away at the start leaves the local clock, and is followed once it answers', async () => {
  let away = true;
  const db = database(() => 5_000);
  const query = async <Row>() => {
    if (away) throw new Error('away');
    return db.query<Row>();
  };
  const clock = await keepDatabaseClock({ query }, silentLog, local);
  expect(clock.now()).toBe(Date.now());
  away = false;
  await vi.advanceTimersByTimeAsync(30_000);
  expect(clock.now()).toBe(Date.now() + 5_000);
  await clock.close();
});
