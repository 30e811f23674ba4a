import { expect, test } from 'vitest';
import { describeDocument, stampMemory } from '../../../src/format/index.js';
import { fc } from '../../support/properties.js';
import { check } from './tree.js';

const STAMP = { updated: '2026-11-28T12:00:00.000Z', by: 'writer', run: 'run1' };
const head = (description: string | null) =>
  `---\n${description === null ? '' : `description: ${description}\n`}updated: "2026-11-28T12:00:00.000Z"\nby: writer\nrun: run1\n---`;
const textOf = (stamped: ReturnType<typeof stampMemory>): string => {
  if (stamped === null || 'refused' in stamped) throw new Error(JSON.stringify(stamped));
  return stamped.text;
};

test.each([
  ['nothing that it does not say itself', '# Likes tea\n\nA lot.\n', null, null],
  ['the one it gives', '---\ndescription: Tastes\n---\nTea.\n', 'Old.\n', 'Tastes'],
  ['the one it had', 'Coffee.\n', '---\ndescription: Tastes\n---\n\nTea.\n', 'Tastes'],
  ['the one it had, also as a person wrote it', 'Coffee.\n', '---\r\ndescription: Tastes\r\n---\r\nTea.\r\n', 'Tastes'],
  ['nothing under empty frontmatter', '---\n---\n***\n', null, null],
])('a memory file is described by %s', (_what, text, before, description) => {
  const stamped = textOf(stampMemory(text, before, STAMP));
  expect(stamped.split('\n\n')[0]).toBe(head(description));
});

test('what an agent claims of when, who and which run is not taken', () => {
  const claimed = '---\ndescription: D\nupdated: yesterday\nby: boss\nrun: other\n---\n\nText.\n';
  expect(textOf(stampMemory(claimed, null, STAMP))).toContain('by: writer\nrun: run1\n---\n\nText.\n');
  expect(textOf(stampMemory(claimed, null, STAMP))).not.toMatch(/boss|other|yesterday/);
});

test.each([
  ['---\nText.\n', 'its first line `---` opens frontmatter that no later `---` closes'],
  ['---\ndescription: a\ntags: [x]\n---\n', 'its frontmatter has the key `tags`'],
  ['---\ndescription: [a]\n---\n', 'its `description` is not a text'],
  ['---\n- a\n---\n', 'its frontmatter is not a list of keys'],
  ['---\na: &x 1\n---\n', 'its frontmatter cannot be read'],
])('frontmatter that says anything else is refused with what to do: %j', (text, why) => {
  expect(stampMemory(text, null, STAMP)).toEqual({ refused: expect.stringContaining(why) });
});

test('whatever an agent writes, its text stays, writing it again is no change, and a deploy takes it', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.oneof(
        fc.constantFrom('```\nopen', '<!-- open', 'Title\n===', '{{ x', '[[no/such]]', '${SECRET}', '##Title'),
        fc.string({ unit: 'binary' }),
      ),
      (description, body) => {
        const first = stampMemory(body, null, STAMP);
        if (first === null || 'refused' in first) return;
        const again = { ...STAMP, updated: '2027-01-01T00:00:00.000Z', run: 'run2' };
        expect(stampMemory(body, first.text, again)).toBe(null);
        expect(stampMemory(first.text, first.text, again)).toBe(null);
        expect(first.text.endsWith(body.replace(/^\uFEFF?([ \t]*(\r\n|\n|\r))*/, ''))).toBe(true);
        const named = stampMemory(`---\ndescription: ${JSON.stringify(description)}\n---\n${body}`, null, STAMP);
        for (const text of [first.text, named !== null && 'text' in named ? named.text : '']) {
          expect(describeDocument(text)).not.toMatch(/[\r\n]/);
          const { issues } = check({ 'memory/writer/a.md': new TextDecoder().decode(new TextEncoder().encode(text)) });
          expect(issues.filter(({ severity }) => severity === 'error')).toEqual([]);
        }
      },
    ),
  );
});
