import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readLiveTree } from '../../src/content/index.js';
import {
  agentWrites,
  bodyOf,
  createWorkspaceApp,
  SMALL,
  type Tree,
  type WorkspaceApp,
} from '../support/workspace-app.js';

const HASH = 'abcdef0123456789abcdef0123456789abcdef01';

test('an agent’s memory that a deploy does not mention stays; what it mentions is replaced', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace({ ...SMALL, 'memory/both.md': 'v1', 'memory/left.md': 'v1' });
  for (const path of ['memory/both.md', 'memory/left.md'])
    await agentWrites(app, { id, path, content: 'agent', seen: 'v1' });
  await agentWrites(app, { id, path: 'memory/own.md', content: 'agent', seen: null });

  const result = await bodyOf(app.deploy(name, { ...SMALL, 'memory/both.md': 'v2' }));
  expect(result).toMatchObject({ applied: true, added: [], changed: ['memory/both.md'], removed: [] });
  expect(await app.readTree(name)).toEqual({
    ...SMALL,
    'memory/both.md': 'v2',
    'memory/left.md': 'agent',
    'memory/own.md': 'agent',
  });
  const rows = await app.deps.db.query('SELECT path FROM memory_file WHERE workspace_id = $1 ORDER BY path', [id]);
  expect(rows).toEqual([{ path: 'memory/left.md' }, { path: 'memory/own.md' }]);
});

/** Memory that an agent wrote and a person corrected then: it is a file of the revision. */
async function corrected(app: WorkspaceApp, files: Tree = SMALL): Promise<{ name: string; id: string }> {
  const made = await app.workspace(files);
  await agentWrites(app, { id: made.id, path: 'memory/own.md', content: 'agent', seen: null });
  await putSource(app, made.name, 'memory/own.md', 'corrected');
  return made;
}

const putSource = async (app: WorkspaceApp, name: string, path: string, content: string): Promise<void> => {
  expect((await app.put(`/api/workspaces/${name}/source`, { path, content })).status).toBe(200);
};

describe('memory that an agent wrote and a person corrected', () => {
  test('stays over deploys that do not mention it, however often it is corrected and written', async () => {
    const app = await createWorkspaceApp();
    const { name, id } = await corrected(app);
    const deploy = async (label: string) => bodyOf(app.deploy(name, { ...SMALL, 'AGENTS.md': label }));
    expect(await deploy('1')).toMatchObject({ applied: true, removed: [], changed: ['AGENTS.md'] });
    expect(await app.readTree(name)).toMatchObject({ 'memory/own.md': 'corrected' });
    await putSource(app, name, 'memory/own.md', 'again');
    expect(await deploy('2')).toMatchObject({ applied: true, removed: [] });
    await agentWrites(app, { id, path: 'memory/own.md', content: 'agent again', seen: 'again' });
    expect(await deploy('3')).toMatchObject({ applied: true, removed: [] });
    await putSource(app, name, 'memory/own.md', 'third');
    expect(await deploy('3')).toMatchObject({ applied: false, removed: [] });
    expect(await app.readTree(name)).toEqual({ ...SMALL, 'AGENTS.md': '3', 'memory/own.md': 'third' });
  });

  test('is the deploy’s from the first one that mentions it, with other bytes or the same', async () => {
    const app = await createWorkspaceApp();
    for (const content of ['corrected', 'deployed']) {
      const { name } = await corrected(app);
      await app.deploy(name, { ...SMALL, 'memory/own.md': content });
      expect(await bodyOf(app.deploy(name, SMALL))).toMatchObject({ applied: true, removed: ['memory/own.md'] });
    }
  });

  test('moves with a person’s move, and is gone when a person removes it', async () => {
    const app = await createWorkspaceApp();
    const { name } = await corrected(app);
    const source = `/api/workspaces/${name}/source`;
    const move = await app.patch(source, { from: 'memory/own.md', to: 'memory/moved.md' });
    expect(move.status).toBe(200);
    expect(await bodyOf(app.deploy(name, { ...SMALL, 'AGENTS.md': '1' }))).toMatchObject({ removed: [] });
    expect(await app.readTree(name)).toMatchObject({ 'memory/moved.md': 'corrected' });
    expect((await app.delete(`${source}?path=memory/moved.md`)).status).toBe(200);
    await app.deploy(name, { ...SMALL, 'AGENTS.md': '2' });
    expect(await app.readTree(name)).toEqual({ ...SMALL, 'AGENTS.md': '2' });
  });

  test('does not keep a repeated hash from being a repeat', async () => {
    const app = await createWorkspaceApp();
    const { name } = await app.workspace();
    const tree = { ...SMALL, 'AGENTS.md': '1' };
    await app.deploy(name, tree, { commit: HASH });
    const { id } =
      (await app.deps.db.query<{ id: string }>('SELECT id FROM workspace WHERE name = $1', [name]))[0] ?? {};
    await agentWrites(app, { id: id ?? '', path: 'memory/own.md', content: 'agent', seen: null });
    await putSource(app, name, 'memory/own.md', 'corrected');
    expect(await bodyOf(app.deploy(name, tree, { commit: HASH }))).toMatchObject({ ok: true, applied: false });
    const other = HASH.replace('a', 'b');
    expect(await bodyOf(app.deploy(name, SMALL, { commit: other }))).toMatchObject({ applied: true, removed: [] });
    expect(await bodyOf(app.deploy(name, SMALL, { commit: other }))).toMatchObject({ ok: true, applied: false });
  });

  test('is found in workspaces of older builds by their history', async () => {
    const app = await createWorkspaceApp();
    const { name, id } = await corrected(app, { ...SMALL, 'memory/deployed.md': 'v1' });
    await agentWrites(app, { id, path: 'memory/deployed.md', content: 'agent', seen: 'v1' });
    await putSource(app, name, 'memory/deployed.md', 'corrected');
    await app.deploy(name, { ...SMALL, 'memory/deployed.md': 'v2' });
    const manifest = async () => {
      const { source } = await readLiveTree(app.deps.db, id);
      return [...source].filter(([, { fromAgent }]) => fromAgent).map(([path]) => path);
    };
    await app.deps.db.query(
      `UPDATE revision SET manifest = (SELECT jsonb_object_agg(key, value - 'fromAgent') FROM jsonb_each(manifest))
        WHERE workspace_id = $1`,
      [id],
    );
    expect(await manifest()).toEqual([]);
    await app.deps.db.query(readFileSync('prisma/migrations/0033_agent_memory/migration.sql', 'utf8'));
    expect(await manifest()).toEqual(['memory/own.md']);
  });
});
