import { expect, test } from 'vitest';
import { listRunFiles, livePlan, loadPlan, readRunFile, readWorkspace, writeMemory } from '../../src/content/index.js';
import { blobId } from '../../src/git/index.js';
import { agentWrites, bodyOf, createWorkspaceApp, FLOW, SMALL } from '../support/workspace-app.js';

const sha = (text: string): string => blobId(Buffer.from(text));

test('a memory write stands only on what the run has read, and says what is there now otherwise', async () => {
  const app = await createWorkspaceApp();
  const { id } = await app.workspace({ ...SMALL, 'memory/a.md': 'v1' });
  const write = (content: string, seen: string | null, path = 'memory/a.md') =>
    agentWrites(app, { id, path, content, seen });

  expect(await write('x', null)).toEqual({ kind: 'conflict', sha: sha('v1') });
  expect(await write('v2', 'v1')).toEqual({ kind: 'written', sha: sha('v2'), changed: true });
  expect(await write('v3', 'v1')).toEqual({ kind: 'conflict', sha: sha('v2') });
  expect(await write('v2', 'v2')).toEqual({ kind: 'written', sha: sha('v2'), changed: false });
  expect(await write('n', 'gone', 'memory/new.md')).toEqual({ kind: 'conflict', sha: null });
  expect(await write('n', null, 'memory/new.md')).toMatchObject({ kind: 'written', changed: true });
  const rows = await app.deps.db.query(
    'SELECT path, version, agent FROM memory_file WHERE workspace_id = $1 ORDER BY path',
    [id],
  );
  expect(rows).toEqual([
    { path: 'memory/a.md', version: 1, agent: 'writer' },
    { path: 'memory/new.md', version: 1, agent: 'writer' },
  ]);
});

test.each([
  ['no file', SMALL, null, null],
  ['a file of the revision', { ...SMALL, 'memory/a.md': 'v1' }, null, 'v1'],
  ['a file that an agent wrote', SMALL, 'v1', 'v1'],
] as const)(
  'of twenty agents that saw %s one writes, and the others see who won',
  async (_what, files, before, seen) => {
    const app = await createWorkspaceApp();
    const { id } = await app.workspace(files);
    const write = (content: string, read: string | null) =>
      agentWrites(app, { id, path: 'memory/a.md', content, seen: read });
    if (before !== null) await write(before, null);
    const all = await Promise.all(Array.from({ length: 20 }, (_, n) => write(`agent ${n}`, seen)));
    const winner = all.find(({ kind }) => kind === 'written');
    expect(all.filter(({ kind }) => kind === 'written')).toHaveLength(1);
    for (const outcome of all) expect(outcome.sha).toBe(winner?.sha);
  },
);

test('memory writes and deploys at once: none is lost, and none stands on what it has not seen', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace({ ...SMALL, 'memory/a.md': '0' });
  for (let round = 0; round < 10; round += 1) {
    const before = (await app.readTree(name))['memory/a.md'] ?? '';
    const [outcome, deployed] = await Promise.all([
      agentWrites(app, { id, path: 'memory/a.md', content: `agent ${round}`, seen: before }),
      bodyOf(app.deploy(name, { ...SMALL, 'memory/a.md': `person ${round}` })),
    ]);
    expect(deployed.applied).toBe(true);
    const now = (await app.readTree(name))['memory/a.md'];
    // Whoever came last stands; an agent that came second has seen the wrong file and is told.
    expect(now).toBe(`person ${round}`);
    if (outcome.kind === 'conflict') expect(outcome.sha).toBe(sha(`person ${round}`));
  }
});

test('a write of an attempt that lost its lane changes nothing', async () => {
  const app = await createWorkspaceApp();
  const { id } = await app.workspace();
  const lost = app.deps.db.transaction((sql) =>
    writeMemory(sql, {
      ...{
        workspaceId: id,
        runId: 'r',
        agent: 'writer',
        path: 'memory/a.md',
        compose: () => Buffer.from('x'),
        seen: null,
      },
      guard: async () => {
        throw new Error('fenced');
      },
    }),
  );
  await expect(lost).rejects.toThrow('fenced');
  expect(await app.deps.db.query('SELECT 1 FROM memory_file WHERE workspace_id = $1', [id])).toEqual([]);
});

test.each(['knowledge/a.md', 'memory/../flows/hello.md', 'memory/', 'memory/a\\b.md'])(
  'an agent never writes to %s',
  async (path) => {
    const app = await createWorkspaceApp();
    const { id } = await app.workspace();
    await expect(agentWrites(app, { id, path, content: 'x', seen: null })).rejects.toThrow('the path');
  },
);

test('a run goes on reading the revision it began with, and reads memory and storage as they are now', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace({
    ...SMALL,
    'knowledge/a.md': 'old',
    'memory/a.md': 'm1',
    'memory/p.md': 'p1',
  });
  const { revision } = await readWorkspace(app.deps, { tenant: app.tenant, workspaces: null }, { workspace: name });
  const view = { tenantId: app.tenant, workspaceId: id, revision: revision ?? '', librarySeq: 0 };
  const text = async (path: string): Promise<string | undefined> => {
    const file = await readRunFile(app.deps, view, path);
    return file ? Buffer.from(file.content).toString() : undefined;
  };
  await agentWrites(app, { id, path: 'memory/a.md', content: 'm2', seen: 'm1' });
  await app.deploy(name, { ...SMALL, 'knowledge/b.md': 'new', 'memory/p.md': 'p2' });
  const stored = await app.deps.blobs.put(Buffer.from('bytes'));
  await app.deps.db.query(
    `INSERT INTO storage_entry (workspace_id, path, sha, size, type, written_by) VALUES ($1, 'storage/x.txt', $2, 5, 'text/plain', '{}')`,
    [id, stored],
  );

  expect(await text('knowledge/a.md')).toBe('old');
  expect(await text('knowledge/b.md')).toBeUndefined();
  expect(await text('memory/a.md')).toBe('m2');
  expect(await text('memory/p.md')).toBe('p2');
  expect(await text('storage/x.txt')).toBe('bytes');
  expect(await text('outputs/none')).toBeUndefined();
  expect(await listRunFiles(app.deps, view)).toEqual([
    { path: 'AGENTS.md', sha: sha(SMALL['AGENTS.md'] ?? ''), size: 8 },
    { path: 'agents/writer.md', sha: expect.any(String), size: expect.any(Number) },
    { path: 'flows/hello.md', sha: expect.any(String), size: expect.any(Number) },
    { path: 'knowledge/a.md', sha: sha('old'), size: 3 },
    { path: 'memory/a.md', sha: sha('m2'), size: 2 },
    { path: 'memory/p.md', sha: sha('p2'), size: 2 },
    { path: 'storage/x.txt', sha: stored, size: 5 },
  ]);
});

test('the live plan follows the pointer, and a plan that a run is pinned to stays', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace();
  const live = async (target: string) => {
    const [row] = await app.deps.db.query<{ liveSeq: number }>(
      'SELECT live_seq AS "liveSeq" FROM workspace WHERE id = $1',
      [id],
    );
    return livePlan(app.deps.db, { id, tenantId: app.tenant, liveSeq: row?.liveSeq ?? 0 }, target);
  };
  const first = await live('flows/hello');
  expect(first?.plan).toMatchObject({ flow: 'hello', steps: 1 });
  expect((await live('agents/writer'))?.plan.flow).toBe('agents/writer');
  expect(await live('flows/none')).toBeNull();

  const { revision } = await bodyOf(
    app.deploy(name, { ...SMALL, 'flows/hello.md': `${FLOW}\n## Again @writer\n\nAgain.\n` }),
  );
  const second = await live('flows/hello');
  expect(second).toMatchObject({ revision, plan: { steps: 2 } });
  expect(await loadPlan(app.deps, id, first?.planId ?? '')).toEqual(first?.plan);
  await expect(loadPlan(app.deps, id, 'no-such-plan')).rejects.toThrow('no plan');
});

test('what an agent wrote is undone by writing the text before it back, and the next run reads that', async () => {
  const app = await createWorkspaceApp();
  const { id, name } = await app.workspace(SMALL);
  const path = 'memory/a.md';
  await agentWrites(app, { id, path, content: 'Good.\n', seen: null, runId: 'run-1' });
  await agentWrites(app, { id, path, content: 'Bad.\n', seen: 'Good.\n', runId: 'run-2' });
  const { changes } = await bodyOf(app.get(`/api/workspaces/${name}/history?path=${path}`));
  expect(changes[0]).toMatchObject({ via: 'agent', runId: 'run-2' });
  const { files } = await bodyOf(app.get(`/api/workspaces/${name}/history?path=${path}&id=${changes[0].id}`));
  expect(files).toMatchObject([{ path, before: 'Good.\n', after: 'Bad.\n' }]);
  const restored = await app.put(`/api/workspaces/${name}/source`, { path, content: files[0].before });
  expect(restored.status).toBe(200);
  const view = { tenantId: app.tenant, workspaceId: id, revision: 'whichever', librarySeq: 0 };
  expect(Buffer.from((await readRunFile(app.deps, view, path))?.content ?? []).toString()).toBe('Good.\n');
  expect(await agentWrites(app, { id, path, content: 'Late.\n', seen: 'Bad.\n' })).toMatchObject({ kind: 'conflict' });
});
