import { expect, test } from 'vitest';
import { agentWrites, bodyOf, createWorkspaceApp, SMALL } from '../support/workspace-app.js';

test('history lists every change, newest first, by whichever door', async () => {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace();
  const url = `/api/workspaces/${name}/history`;
  await app.deploy(name, { ...SMALL, 'knowledge/a.md': 'a' }, { message: 'Add a' });
  await app.put(`/api/workspaces/${name}/source`, { path: 'knowledge/a.md', content: 'b' });
  await agentWrites(app, { id, path: 'memory/m.md', content: 'm', seen: null, runId: 'run-7' });
  await app.delete(`/api/workspaces/${name}/source?path=knowledge/a.md`);

  const { changes, next } = await bodyOf(app.get(url));
  expect(next).toBeNull();
  expect(
    changes.map((each: { via: string; message: string; paths: string[] }) => [each.via, each.message, each.paths]),
  ).toEqual([
    ['edit', 'Remove knowledge/a.md', ['knowledge/a.md']],
    ['agent', 'writer wrote memory/m.md', ['memory/m.md']],
    ['edit', 'Edit knowledge/a.md', ['knowledge/a.md']],
    ['deploy', 'Add a', ['knowledge/a.md']],
    ['deploy', `Create ${name}`, Object.keys(SMALL).sort()],
  ]);
  expect(changes[1]).toMatchObject({ by: { kind: 'agent', id: 'writer' }, runId: 'run-7', gitCommit: null });
  expect(changes[0]).toMatchObject({ by: { kind: 'key', label: 'admin' }, runId: null, id: changes[0].gitCommit });

  const ofA = await bodyOf(app.get(`${url}?path=knowledge/a.md`));
  expect(ofA.changes.map(({ via }: { via: string }) => via)).toEqual(['edit', 'edit', 'deploy']);
});

test('pages follow one another without a gap or a repeat, and a made-up cursor is 422', async () => {
  const app = await createWorkspaceApp();
  const { name } = await app.workspace();
  for (let n = 0; n < 6; n += 1) await app.deploy(name, { ...SMALL, 'AGENTS.md': `${n}` }, { message: `m${n}` });
  const seen: string[] = [];
  let cursor = '';
  for (;;) {
    const page = await bodyOf(app.get(`/api/workspaces/${name}/history?limit=3${cursor && `&cursor=${cursor}`}`));
    seen.push(...page.changes.map(({ message }: { message: string }) => message));
    if (page.next === null) break;
    cursor = page.next;
  }
  expect(seen).toEqual(['m5', 'm4', 'm3', 'm2', 'm1', 'm0', `Create ${name}`]);
  expect((await app.get(`/api/workspaces/${name}/history?cursor=x'--`)).status).toBe(422);
});

test('one change shows each file before and after, with a line diff, by its id or its git commit', async () => {
  const app = await createWorkspaceApp();
  const { name } = await app.workspace({ ...SMALL, 'knowledge/a.md': 'one\ntwo\nthree\n', 'knowledge/gone.md': 'x\n' });
  const commit = '0123456789abcdef0123456789abcdef01234567';
  const next = { ...SMALL, 'knowledge/a.md': 'one\n2\nthree\n', 'knowledge/new.md': 'n' };
  const { gitCommit } = await bodyOf(app.deploy(name, next, { commit }));
  const byId = await bodyOf(app.get(`/api/workspaces/${name}/history?id=${commit}`));
  expect(byId.id).toBe(commit);
  expect(byId.files).toEqual([
    {
      ...{
        path: 'knowledge/a.md',
        before: 'one\ntwo\nthree\n',
        after: 'one\n2\nthree\n',
        binary: false,
        truncated: false,
      },
      diff: [
        { op: ' ', text: 'one' },
        { op: '-', text: 'two' },
        { op: '+', text: '2' },
        { op: ' ', text: 'three' },
      ],
    },
    {
      ...{ path: 'knowledge/gone.md', before: 'x\n', after: null, binary: false, truncated: false },
      diff: [{ op: '-', text: 'x' }],
    },
    {
      ...{ path: 'knowledge/new.md', before: null, after: 'n', binary: false, truncated: false },
      diff: [{ op: '+', text: 'n' }],
    },
  ]);
  expect(await bodyOf(app.get(`/api/workspaces/${name}/history?id=${gitCommit}`))).toEqual(byId);
  const one = await bodyOf(app.get(`/api/workspaces/${name}/history?id=${commit}&path=knowledge/new.md`));
  expect(one.files.map(({ path }: { path: string }) => path)).toEqual(['knowledge/new.md']);
  expect((await app.get(`/api/workspaces/${name}/history?id=nope`)).status).toBe(404);
});

test('bytes that are no text, and more text than an answer holds, are named and not shown', async () => {
  const app = await createWorkspaceApp();
  const { name } = await app.workspace();
  const files = [
    ...Object.entries(SMALL).map(([path, content]) => ({ path, content })),
    { path: 'knowledge/a.bin', contentBase64: Buffer.from([0, 1, 255]).toString('base64') },
    ...Array.from({ length: 25 }, (_, n) => ({
      path: `knowledge/big-${n + 10}.txt`,
      content: `${'x'.repeat(999)}\n`.repeat(200),
    })),
  ];
  const { commit } = await bodyOf(app.post(`/api/workspaces/${name}/deploy`, { files }));
  const { files: shown } = await bodyOf(app.get(`/api/workspaces/${name}/history?id=${commit}`));
  expect(shown[0]).toMatchObject({ path: 'knowledge/a.bin', binary: true, before: null, after: null, diff: [] });
  expect(shown[1]).toMatchObject({ path: 'knowledge/big-10.txt', truncated: false });
  expect(shown.at(-1)).toMatchObject({ path: 'knowledge/big-34.txt', truncated: true, after: null });
  const last = await bodyOf(app.get(`/api/workspaces/${name}/history?id=${commit}&path=knowledge/big-34.txt`));
  expect(last.files[0].diff).toHaveLength(200);
});

test('a change of another workspace is 404', async () => {
  const app = await createWorkspaceApp();
  const [one, two] = [await app.workspace(), await app.workspace()];
  const { revision } = await bodyOf(app.get(`/api/workspaces/${one.name}`));
  expect((await app.get(`/api/workspaces/${one.name}/history?id=${revision}`)).status).toBe(200);
  const { commit } = await bodyOf(app.deploy(two.name, { ...SMALL, 'AGENTS.md': 'x' }));
  expect((await app.get(`/api/workspaces/${one.name}/history?id=${commit}`)).status).toBe(404);
});

test('security 29: a path that is not canonical is 422 in history as everywhere, and a workspace that is not there comes first', async () => {
  const app = await createWorkspaceApp();
  const { name } = await app.workspace();
  const { changes } = await bodyOf(app.get(`/api/workspaces/${name}/history`));
  for (const path of ['../AGENTS.md', 'a%2e%2e/b', 'a\\b', 'a//b', 'a/']) {
    for (const id of ['', `&id=${changes[0].id}`]) {
      const query = `history?path=${encodeURIComponent(path)}${id}`;
      const [ours, missing] = await Promise.all(
        [name, 'missing'].map((ws) => app.get(`/api/workspaces/${ws}/${query}`)),
      );
      expect([path, ours?.status, missing?.status]).toEqual([path, 422, 404]);
    }
  }
});
