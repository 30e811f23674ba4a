import { expect, test } from 'vitest';
import { parseSavedPath, type Shown, savedPath, showEntries } from '../../src/engine/agent/compaction/apply.js';
import { compacted, markerText, NO_PAST, readTranscript } from '../../src/engine/agent/compaction/marker.js';
import { planCompaction } from '../../src/engine/agent/compaction/plan.js';
import { guessTokens, sizeOf } from '../../src/engine/agent/compaction/size.js';
import type { Entry } from '../../src/engine/agent/session.js';
import { fc } from '../support/properties.js';

const words = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.nat({ max: 30_000 }).map((length) => 'lorem ipsum "dolor"\n'.repeat(length / 20)),
  fc.nat({ max: 3_000 }).map((length) => '紅茶'.repeat(length / 2)),
);

const turn = fc.record({
  text: fc.string({ maxLength: 200 }),
  results: fc.array(words, { maxLength: 4 }),
  told: fc.boolean(),
});

/** A transcript as the loop makes it: an answer, the results of its calls, a word of the engine's now and then. */
const transcript = fc.array(turn, { maxLength: 30 }).map((turns) => {
  const entries: Entry[] = turns.flatMap(({ text, results, told }, at): Entry[] => {
    const calls = results.map((_text, index) => ({ id: `${at}-${index}`, name: 'Read', args: { path: 'a.md' } }));
    const answers = results.map((result, index) => ({
      callId: `${at}-${index}`,
      name: 'Read',
      text: result,
      isError: false,
    }));
    return [
      { role: 'assistant', text, calls },
      ...(calls.length > 0 ? [{ role: 'tool' as const, results: answers }] : []),
      ...(told || calls.length === 0 ? [{ role: 'user' as const, text: 'Go on.', why: 'nudge' as const }] : []),
    ];
  });
  return entries.map((entry, seq) => ({ ...entry, seq }));
});

const FIXED = 500;
const limits = fc.integer({ min: 3_000, max: 60_000 });
const sum = (entries: readonly Entry[]) => entries.reduce((total, entry) => total + sizeOf(entry), 0);

/** As the engine does it: the plan, a summary as long as it may be, the entries as they are shown from then on. */
function compact(entries: readonly Entry[], limit: number, shown: Shown = NO_PAST) {
  const plan = planCompaction({ entries, shown, fixed: FIXED, limit, factor: 1 });
  if (!plan) return null;
  const [first] = entries;
  const before = first?.role === 'user' && first.why === 'compacted' ? first.text : '';
  const text = plan.old.length > 0 ? 's'.repeat(plan.summaryTokens * 3) : before;
  const marker: Entry = { role: 'user', why: 'compacted', text, seq: (entries.at(-1)?.seq ?? 0) + 1 };
  return { plan, entries: compacted(marker, entries, plan.shown) };
}

/** The calls that have no result, and the results that have no call before them. */
function torn(entries: readonly Entry[]): string[] {
  const open = new Set<string>();
  const strangers: string[] = [];
  for (const entry of entries) {
    if (entry.role === 'assistant') for (const { id } of entry.calls) open.add(id);
    if (entry.role === 'tool') for (const { callId } of entry.results) if (!open.delete(callId)) strangers.push(callId);
  }
  return [...open, ...strangers];
}

test('a compaction never parts a call from its result', () => {
  fc.assert(
    fc.property(transcript, limits, (entries, limit) => {
      const done = compact(entries, limit);
      expect(torn(done?.entries ?? [])).toEqual([]);
    }),
  );
});

test('what is compacted fits: a transcript that was over the limit is under it, whatever was in it', () => {
  fc.assert(
    fc.property(transcript, limits, (entries, limit) => {
      fc.pre(FIXED + sum(entries) > limit);
      const newest = entries.slice(entries.findLastIndex(({ role }) => role === 'assistant'));
      // What no results are is the model's own: it cannot be cut.
      fc.pre(sum(newest.filter(({ role }) => role !== 'tool')) < limit * 0.2);
      const done = compact(entries, limit);
      expect(FIXED + sum(done?.entries ?? entries)).toBeLessThanOrEqual(limit);
    }),
  );
});

test('the newest turn stays whole unless it alone is too long, and then only its results are shorter', () => {
  fc.assert(
    fc.property(transcript, limits, (entries, limit) => {
      const at = entries.findLastIndex(({ role }) => role === 'assistant');
      const newest = entries.slice(at);
      const done = compact(entries, limit);
      fc.pre(done !== null && at >= 0);
      const kept = done?.entries.slice(-newest.length) ?? [];
      if (sum(newest) < (limit - FIXED) * 0.5) expect(kept).toEqual(newest);
      expect(kept.map(({ seq, role }) => ({ seq, role }))).toEqual(newest.map(({ seq, role }) => ({ seq, role })));
      expect(kept.filter(({ role }) => role !== 'tool')).toEqual(newest.filter(({ role }) => role !== 'tool'));
    }),
  );
});

test('compacting twice is compacting once: shown again nothing changes, and nothing more is to be gained', () => {
  fc.assert(
    fc.property(transcript, limits, (entries, limit) => {
      const done = compact(entries, limit);
      fc.pre(done !== null && FIXED + sum(entries) > limit);
      if (!done) return;
      const [first] = done.entries;
      const rest = first?.why === 'compacted' ? done.entries.slice(1) : done.entries;
      expect(showEntries(rest, done.plan.shown)).toEqual(rest);
      const again = FIXED + sum(done.entries) > limit ? compact(done.entries, limit, done.plan.shown) : null;
      expect(again).toBe(null);
    }),
  );
});

test('rows read back give the messages that the process had, after any number of compactions', () => {
  fc.assert(
    fc.property(fc.array(transcript, { minLength: 1, maxLength: 4 }), limits, (parts, limit) => {
      const rows: { seq: number; epoch: number; role: string; content: never }[] = [];
      let past = NO_PAST;
      let live: Entry[] = [];
      const add = (entry: Entry) => {
        const { role, seq: _seq, ...content } = entry;
        rows.push({ seq: rows.length, epoch: past.epoch, role, content: structuredClone(content) as never });
        return { ...entry, seq: rows.length - 1 };
      };
      for (const part of parts) {
        for (const entry of part) live.push(add(entry));
        const plan = planCompaction({ entries: live, shown: past, fixed: FIXED, limit, factor: 1 });
        if (!plan) continue;
        const first = live[0];
        const before = first?.role === 'user' && first.why === 'compacted' ? first.text : '';
        const text = plan.old.length > 0 ? markerText('so far') : before;
        past = { ...past, ...plan.shown, epoch: past.epoch + 1, since: rows.length };
        const marker = add({ role: 'user', why: 'compacted', text, past } as Entry);
        const { past: _past, ...summary } = marker as Entry & { past: unknown };
        live = compacted(summary as Entry, live, plan.shown);
      }
      // A later attempt reads from the row on that the newest compaction names.
      const read = readTranscript(rows.filter(({ seq }) => seq >= past.from));
      expect(read.messages).toEqual(live);
      expect(read.past).toMatchObject({ epoch: past.epoch, from: past.from, elide: past.elide });
    }),
  );
});

test('old results give way before older turns do', () => {
  const entries = Array.from({ length: 8 }, (_, at): Entry[] => [
    { role: 'assistant', text: '', calls: [{ id: `${at}`, name: 'Read', args: {} }], seq: at * 2 },
    {
      role: 'tool',
      results: [{ callId: `${at}`, name: 'Read', text: 'x'.repeat(9_000), isError: false }],
      seq: at * 2 + 1,
    },
  ]).flat();
  const done = compact(entries, 20_000);
  expect(done?.plan).toMatchObject({ old: [], shown: { from: 0 } });
  expect(done?.entries).toHaveLength(entries.length);
  expect(done?.entries[1]).toMatchObject({ results: [{ text: '[saved: saved/result-1-1.txt]' }] });
  expect(done?.entries.at(-1)).toEqual(entries.at(-1));
});

test('a text’s guess is a third of its ASCII characters, and all of its others', () => {
  expect([guessTokens('x'.repeat(300)), guessTokens('紅茶'), guessTokens('')]).toEqual([100, 2, 0]);
});

test('a saved path names its place, and nothing else does', () => {
  expect(parseSavedPath(savedPath(12, 3))).toEqual({ seq: 12, number: 3 });
  for (const path of ['saved/result-1.txt', 'saved/../result-1-1.txt', 'saved/result-1-1.txt/x', 'saved/Bash-1.txt'])
    expect(parseSavedPath(path)).toBe(null);
});
