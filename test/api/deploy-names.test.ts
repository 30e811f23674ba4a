import { expect, test } from 'vitest';
import { AGENT, agentWrites, bodyOf, createWorkspaceApp, SMALL, type Tree } from '../support/workspace-app.js';

test.each([
  ['abc1234', 'abc1234'],
  ['f'.repeat(64), 'f'.repeat(64)],
  ['v1.2.3', 'v1.2.3'],
  ['hotfix', null],
] as const)('commit %s beside a message is the id that history finds it by', async (commit, id) => {
  const app = await createWorkspaceApp();
  const { name } = await app.workspace();
  const message = 'Say it better';
  const answer = await bodyOf(app.deploy(name, { ...SMALL, 'AGENTS.md': '1' }, { commit, message }));
  if (id === null) expect(answer).toMatchObject({ commit: answer.gitCommit });
  else expect(answer).toMatchObject({ commit: id, revision: id });
  const one = await bodyOf(app.get(`/api/workspaces/${name}/history?id=${commit}`));
  expect(one).toMatchObject({ id: answer.revision, commit, message, gitCommit: answer.gitCommit });
  const { changes } = await bodyOf(app.get(`/api/workspaces/${name}/history`));
  expect(changes[0]).toMatchObject({ id: answer.revision, commit, message });
});

test('a short id given twice names the newest deploy, and both stay findable; a text beside a message is kept', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace();
  const first = await bodyOf(app.deploy(name, { ...SMALL, 'AGENTS.md': '1' }, { commit: 'build-417' }));
  const second = await bodyOf(app.deploy(name, { ...SMALL, 'AGENTS.md': '2' }, { commit: 'build-417' }));
  expect(first).toMatchObject({ applied: true, revision: 'build-417' });
  expect(second).toMatchObject({ applied: true, revision: second.gitCommit });
  const find = (id: string) => bodyOf(app.get(`/api/workspaces/${name}/history?id=${id}`));
  expect(await find('build-417')).toMatchObject({ id: 'build-417' });
  expect(await find(second.gitCommit)).toMatchObject({ commit: 'build-417' });
  // An id that another change has is left to it.
  const written = await agentWrites(app, { id, path: 'memory/a.md', content: 'a', seen: null });
  expect(written).toMatchObject({ kind: 'written' });
  const [agents] = (await bodyOf(app.get(`/api/workspaces/${name}/history`))).changes;
  const taken = await bodyOf(app.deploy(name, { ...SMALL, 'AGENTS.md': '3' }, { commit: agents.id }));
  expect(taken).toMatchObject({ applied: true, revision: taken.gitCommit });
  await app.deploy(name, { ...SMALL, 'AGENTS.md': '4' }, { commit: 'Two words', message: 'Say it better' });
  const [newest] = (await bodyOf(app.get(`/api/workspaces/${name}/history`))).changes;
  expect(newest).toMatchObject({ message: 'Say it better\n\nTwo words', commit: null });
});

test('an answer lists what was removed first, dry or not', async () => {
  const app = await createWorkspaceApp();
  const { name } = await app.workspace({ ...SMALL, 'knowledge/a.md': 'a', 'knowledge/b.md': 'b' });
  for (const dryRun of [true, false]) {
    const answer = await bodyOf(app.deploy(name, { ...SMALL, 'knowledge/c.md': 'c' }, { dryRun }));
    expect(answer).toMatchObject({ removed: ['knowledge/a.md', 'knowledge/b.md'], added: ['knowledge/c.md'] });
    const lists = Object.keys(answer).filter((key) => ['removed', 'added', 'changed'].includes(key));
    expect(lists).toEqual(['removed', 'added', 'changed']);
  }
});

const { 'AGENTS.md': _, ...WITHOUT } = SMALL;
test.each([
  ['no files', SMALL, {}, 422],
  ['one file that was meant as a change', SMALL, { 'agents/writer.md': AGENT }, 422],
  ['another tree', SMALL, { 'knowledge/a.md': 'a' }, 422],
  ['no files over AGENTS.md alone', { 'AGENTS.md': '' }, {}, 422],
  ['a first tree over AGENTS.md alone', { 'AGENTS.md': '' }, WITHOUT, 200],
  ['all but AGENTS.md', SMALL, WITHOUT, 200],
  ['AGENTS.md alone', SMALL, { 'AGENTS.md': '' }, 200],
] as const)(
  'a deploy of %s that would empty the workspace is refused, or goes live',
  async (_what, live, files, status) => {
    const app = await createWorkspaceApp();
    const { name } = await app.workspace(live as Tree);
    const before = await app.readTree(name);
    for (const dryRun of [true, false]) {
      const response = await app.deploy(name, files as Tree, { dryRun });
      expect(response.status).toBe(status);
      if (status === 200) continue;
      expect(await bodyOf(response)).toMatchObject({
        ok: false,
        removed: Object.keys(live)
          .filter((path) => !(path in files))
          .sort(),
        issues: [{ path: 'AGENTS.md', code: 'tree/would-empty', hint: expect.stringContaining('allowEmpty') }],
      });
      expect(await app.readTree(name)).toEqual(before);
    }
    expect((await app.deploy(name, files as Tree, { allowEmpty: true })).status).toBe(200);
    expect(await app.readTree(name)).toEqual(files);
  },
);
