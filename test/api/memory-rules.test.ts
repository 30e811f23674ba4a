import { expect, test } from 'vitest';
import { listIndexed } from '../../src/content/index.js';
import { createToolLane, type ToolLane } from '../support/tool-lane.js';

/** A path of the writer's own folder. */
const mine = (name: string) => `memory/writer/${name}`;
const path = mine('notes.md');

/** The text below the frontmatter. */
const bodyOf = (text: string): string => text.slice(text.indexOf('\n---\n\n') + '\n---\n\n'.length);

async function others(lane: ToolLane, count: number): Promise<ToolLane[]> {
  const lanes: ToolLane[] = [];
  for (let n = 0; n < count; n += 1) lanes.push(await lane.other({ run: `${lane.context.run.id}-${n}` }));
  return lanes;
}

/** As a model does it: reads the file, adds its line, and begins anew when somebody was faster. */
async function addLine(lane: ToolLane, line: string): Promise<void> {
  for (;;) {
    const read = await lane.call('Read', { path });
    const content = read.isError ? `${line}\n` : `${read.text}${line}\n`;
    const written = await lane.call('Write', { path, content });
    if (!written.isError) return;
    expect(written.text).toMatch(/since you read it|have not read it/);
  }
}

test('many runs that write one file at once lose no line: who was slower is told, and each write is one change', async () => {
  const lane = await createToolLane();
  const lanes = await others(lane, 8);
  // A lane does one thing after the other; what it has read is what it knows of.
  const linesOf = (n: number) => [0, 1, 2].map((k) => `line ${n}.${k}`);
  await Promise.all(
    lanes.map(async (one, n) => {
      for (const line of linesOf(n)) await addLine(one, line);
    }),
  );
  const lines = bodyOf(await lane.ok('Read', { path }))
    .trim()
    .split('\n');
  expect(lines.toSorted()).toEqual(lanes.flatMap((_, n) => linesOf(n)).toSorted());
  const { workspaceId } = lane.context.run;
  const [row] = await lane.deps.db.query(
    `SELECT (SELECT version FROM memory_file WHERE workspace_id = $1 AND path = $2) AS version,
      (SELECT count(*)::int FROM change WHERE workspace_id = $1 AND via = 'agent' AND run_id IS NOT NULL) AS changes`,
    [workspaceId, path],
  );
  expect(row).toEqual({ version: 24, changes: 24 });
});

test('who was slower is told who changed the file, and what', async () => {
  const lane = await createToolLane({ files: { [path]: 'Likes tea.\nHas a cat.\n' } });
  const [other] = await others(lane, 1);
  await lane.ok('Read', { path });
  await other?.ok('Read', { path });
  await other?.ok('Edit', { path, old_string: 'tea', new_string: 'coffee' });
  const told = await lane.fails('Edit', { path, old_string: 'a cat', new_string: 'a dog' });
  expect(told).toMatch(
    /^memory\/writer\/notes\.md was changed by the agent writer in another run since you read it\. What changed:\n/,
  );
  expect(told).toContain('\n- Likes tea.\n+ Likes coffee.\n');
  expect(told).toMatch(/Read it again, then make your change on what it says now$/);
  expect(told).not.toContain('Has a cat');
  await lane.ok('Read', { path });
  await lane.ok('Edit', { path, old_string: 'a cat', new_string: 'a dog' });
  expect(bodyOf(await lane.ok('Read', { path }))).toBe('Likes coffee.\nHas a dog.\n');
});

test('of a file that was removed the agent is told once, and may make it anew', async () => {
  const lane = await createToolLane();
  await lane.ok('Write', { path, content: 'Mine.' });
  await lane.deps.db.query('DELETE FROM memory_file WHERE workspace_id = $1', [lane.context.run.workspaceId]);
  expect(await lane.fails('Write', { path, content: 'Newer.' })).toMatch(
    /was removed.* since you read it: Write it again/,
  );
  expect((await lane.call('Write', { path, content: 'Newer.' })).memoryWrite).toBe(path);
});

test('what was written counts for the run with the write itself, and what says the same is none', async () => {
  const lane = await createToolLane();
  const writes = async () => {
    const [row] = await lane.deps.db.query<{ paths: string[] }>(
      'SELECT memory_writes AS paths FROM run WHERE id = $1',
      [lane.context.run.id],
    );
    return row?.paths;
  };
  await lane.ok('Write', { path, content: '---\ndescription: Tastes\n---\nTea.' });
  expect(await writes()).toEqual([path]);
  expect((await lane.call('Write', { path, content: 'Tea.' })).memoryWrite).toBeUndefined();
  await lane.ok('Write', { path: mine('b.md'), content: 'B' });
  await lane.ok('Write', { path, content: 'Coffee.' });
  expect(await writes()).toEqual([path, mine('b.md')]);
  const read = await lane.ok('Read', { path });
  expect(read).toMatch(
    new RegExp(
      `^---\\ndescription: Tastes\\nupdated: "20[^"]+Z"\\nby: writer\\nrun: "?${lane.context.run.id}"?\\n---\\n\\nCoffee\\.$`,
    ),
  );
  expect(await lane.fails('Write', { path, content: '---\nmood: good\n---\nTea.' })).toContain('the key `mood`');
  // Cut after its write, an agent that makes it again is not told of a change by somebody else.
  const again = await lane.other({ run: `${lane.context.run.id}-again` });
  expect((await again.call('Write', { path, content: 'Coffee.' })).isError).toBe(false);
});

test.each([
  ['..', `${mine('..')}/x.md`, /part/],
  ['a twin by case', mine('NOTES.md'), /cannot be beside memory\/writer\/notes\.md/],
  ['a twin by Unicode form', mine('cafe\u0301.md'), /NFC/],
  ['a file in a file', `${path}/x.md`, /cannot be beside/],
  ['a file that is a folder', mine('folder.md'), /cannot be beside/],
  ['a control character', mine('a\u0007.md'), /control/],
  ['a backslash', mine('a\\b.md'), /backslash/],
  ['the part that git keeps', `${mine('.git')}/x.md`, /git/],
  ['a sibling whose name begins alike', 'memory/writer-2/x.md', /not yours to write/],
  ['another agent’s folder by case', 'memory/Writer/x.md', /not yours to write/],
  ['the memory of its own folder', 'agents/writer/memory/x.md', /not yours to write/],
  ['a folder', mine(''), /part|names a folder|empty/],
])('security 29: %s is no path for an agent’s memory', async (_what, hostile, why) => {
  const lane = await createToolLane({ files: { [path]: 'x', [mine('folder.md/in.md')]: 'x' } });
  expect(await lane.fails('Write', { path: hostile, content: 'x' })).toMatch(why);
});

test('of two agents that make twins at once one has the name', async () => {
  const lane = await createToolLane();
  const names = ['a.md', 'A.md', 'a.md/b.md'];
  for (let round = 0; round < 5; round += 1) {
    const lanes = await others(lane, names.length);
    const ends = await Promise.all(
      lanes.map((one, n) => one.call('Write', { path: mine(`${round}/${names[n]}`), content: 'x' })),
    );
    expect(ends.filter(({ isError }) => !isError)).toHaveLength(1);
  }
});

test('memory has its limits: 256 KiB a file, 2,000 files and 16 MiB a workspace, each with what to do', async () => {
  const lane = await createToolLane();
  const { workspaceId, id } = lane.context.run;
  const fill = (count: number, size: number) =>
    lane.deps.db.query(
      `INSERT INTO memory_file (workspace_id, path, sha, size, agent, run_id)
        SELECT $1, 'memory/full/' || n || '.md', 's', $2, 'writer', $3 FROM generate_series(1, $4::int) n`,
      [workspaceId, size, id, count],
    );
  expect(await lane.fails('Write', { path, content: 'x'.repeat(256 * 1_024) })).toContain('256 KiB; split it');
  await lane.ok('Write', { path, content: 'x' });
  await fill(64, 256 * 1_024);
  expect(await lane.fails('Write', { path, content: 'longer than before' })).toContain('at most 16 MiB');
  await lane.deps.db.query(`DELETE FROM memory_file WHERE workspace_id = $1 AND path LIKE 'memory/full/%'`, [
    workspaceId,
  ]);
  await fill(1_999, 1);
  expect(await lane.fails('Write', { path: mine('one-more.md'), content: 'x' })).toContain('at most 2000 files');
  await lane.ok('Write', { path, content: 'Still mine to change.' });
});

test('the index lists memory as it is now and the agent’s own, with what each file says of itself', async () => {
  const lane = await createToolLane({
    files: {
      'memory/shared.md': '---\ndescription: What all share\n---\nX',
      [path]: 'Likes tea.\nA lot.',
      'knowledge/returns.md': '---\ntitle: Returns\ndescription: How goods come back\n---\n# Returns',
      'knowledge/plain.md': '# Plain words\n\nText.',
      'agents/writer/memory/style.md': 'How I write.',
      'agents/writer/knowledge/k.md': '# My own',
      'agents/other/memory/secret.md': 'Not for the writer.',
    },
  });
  await lane.ok('Read', { path });
  await lane.ok('Write', { path, content: '---\ndescription: "Tastes\\nof people"\n---\nLikes coffee.' });
  const { run } = lane.context;
  expect(await listIndexed(lane.deps, run, 'writer')).toEqual({
    memory: [
      { path: 'agents/writer/memory/style.md', description: 'How I write.' },
      { path: 'memory/shared.md', description: 'What all share' },
      { path, description: 'Tastes of people' },
    ],
    knowledge: [
      { path: 'agents/writer/knowledge/k.md', description: 'My own' },
      { path: 'knowledge/plain.md', description: 'Plain words' },
      { path: 'knowledge/returns.md', description: 'How goods come back' },
    ],
  });
});
