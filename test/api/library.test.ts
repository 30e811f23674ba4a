import { beforeEach, expect, test } from 'vitest';
import { agentRoutes } from '../../src/api/routes/agents.js';
import { deployRoutes } from '../../src/api/routes/deploys.js';
import { historyRoutes } from '../../src/api/routes/history.js';
import { libraryRoutes } from '../../src/api/routes/library.js';
import { sourceRoutes } from '../../src/api/routes/source.js';
import { workspaceRoutes } from '../../src/api/routes/workspaces.js';
import { LIBRARY_KINDS, livePlan, pinnedPlan } from '../../src/content/index.js';
import { createKey, createTenant } from '../support/create-test-app.js';
import { createPerson } from '../support/sessions.js';
import { signedInCookie } from '../support/signed-in-cookie.js';
import { bodyOf, createWorkspaceApp, fileList, SMALL, type Tree, type WorkspaceApp } from '../support/workspace-app.js';

const routes = [
  ...agentRoutes,
  ...workspaceRoutes,
  ...sourceRoutes,
  ...deployRoutes,
  ...historyRoutes,
  ...libraryRoutes,
];
let app: WorkspaceApp;
beforeEach(async () => {
  app = await createWorkspaceApp({ routes });
});

const TOOL = (description: string) =>
  `---\nname: crm\ndescription: ${description}\n---\n\n\`\`\`bash\necho ${description}\n\`\`\`\n`;
const SKILL = (description: string) => `---\nname: plain\ndescription: ${description}\n---\nDo.\n`;
const put = (path: string, content: string, headers = {}) =>
  app.put(`/api/library/${path.split('/')[0]}`, { path, content }, { headers });
const items = async (kind: string, as?: object) => (await bodyOf(app.get(`/api/library/${kind}`, as))).items;

/** The plan of an agent as a run that begins now would have it. */
async function planOf(id: string, agent = 'writer') {
  const [row] = await app.deps.db.query<{ liveSeq: number }>(
    'SELECT live_seq AS "liveSeq" FROM workspace WHERE id = $1',
    [id],
  );
  const live = await livePlan(app.deps.db, { id, tenantId: app.tenant, liveSeq: row?.liveSeq ?? 0 }, `agents/${agent}`);
  if (!live) throw new Error('no plan');
  return { ...live, agent: live.plan.agents[agent] };
}

const WRITER = (frontmatter: string) => ({
  ...SMALL,
  'agents/writer.md': `---\nname: writer\ndescription: Writes.\n${frontmatter}---\n\nYou write.\n`,
});

test('each kind has a template, a file with its ETag, a change, a removal, a history and an audit entry', async () => {
  for (const kind of LIBRARY_KINDS) {
    const made = await app.post(`/api/library/${kind}`, { name: kind === 'scripts' ? 'one.py' : 'one' });
    const { path, sha, issues, added } = await bodyOf(made);
    expect([made.status, made.headers.get('etag'), issues, added]).toEqual([201, `"${sha}"`, [], [path]]);
    expect(await items(kind)).toMatchObject([{ path, sha, grantedBy: [], shadowedIn: [] }]);
    const read = await app.get(`/api/library/${kind}?path=${path}`);
    expect(read.headers.get('etag')).toBe(`"${sha}"`);
    const { content } = await bodyOf(read);
    expect(
      (await app.get(`/api/library/${kind}?path=${path}`, { headers: { 'if-none-match': `"${sha}"` } })).status,
    ).toBe(304);
    expect((await app.post(`/api/library/${kind}`, { path, content })).status).toBe(409);
    expect((await put(path, `${content}\nMore.\n`, { 'if-match': '"other"' })).status).toBe(412);
    expect((await put(path, content)).status).toBe(200);
    const written = await bodyOf(put(path, `${content}\nMore.\n`, { 'if-match': `"${sha}"` }));
    expect(written).toMatchObject({ applied: true, changed: [path] });
    expect((await app.delete(`/api/library/${kind}?path=${path}`)).status).toBe(200);
    expect((await app.get(`/api/library/${kind}?path=${path}`)).status).toBe(404);
    const { changes } = await bodyOf(app.get(`/api/library/history?path=${path}`));
    expect(changes.map(({ message }: { message: string }) => message)).toEqual([
      `Remove ${path}`,
      `Edit ${path}`,
      `Add ${path}`,
    ]);
    const one = await bodyOf(app.get(`/api/library/history?id=${changes[1].id}`));
    expect(one.files[0].diff.some(({ op, text }: { op: string; text: string }) => op === '+' && text === 'More.')).toBe(
      true,
    );
  }
  const audit = await app.deps.db.query<{ action: string }>(
    'SELECT DISTINCT action FROM audit_entry WHERE tenant_id = $1 ORDER BY 1',
    [app.tenant],
  );
  expect(audit.map(({ action }) => action)).toEqual(['library.create', 'library.remove', 'library.write']);
});

test('what is no document of the library is refused with what to do, and nothing is stored', async () => {
  const refusals: readonly (readonly [string, object, number, string])[] = [
    ['tools', { path: 'tools/../flows/x.md', content: 'x' }, 422, 'part'],
    ['tools', { path: 'tools/crm.md', content: '---\nname: crm\ndescripton: x\n---\n' }, 422, 'tool/unknown-key'],
    [
      'tools',
      { path: 'tools/crm.md', content: '---\nname: other\ndescription: x\nbase: https://a.example\n---\n' },
      422,
      'tool/bad-name',
    ],
    [
      'tools',
      { path: 'tools/crm.md', content: '---\nname: crm\ndescription: x\nrun: library/scripts/gone.py\n---\n' },
      422,
      'tool/bad-value',
    ],
    ['skills', { path: 'skills/s/SKILL.md', content: '---\nname: s\n---\n' }, 422, 'description'],
    ['knowledge', { path: 'knowledge/big.md', content: 'x'.repeat(256 * 1024 + 1) }, 422, '262144'],
    ['knowledge', { path: 'knowledge/x.md', contentBase64: '/w==' }, 422, 'file/not-utf8'],
    ['knowledge', { name: 'Not A Name' }, 422, 'lower-case'],
    ['knowledge', { name: 'x', template: 'nope' }, 422, 'blank'],
    ['knowledge', { content: 'x' }, 422, 'give a name'],
    ['flows', { name: 'x' }, 422, 'kind'],
  ];
  for (const [kind, body, status, says] of refusals) {
    const response = await app.post(`/api/library/${kind}`, body);
    expect([response.status, await response.text()], says).toEqual([status, expect.stringContaining(says)]);
  }
  for (const kind of LIBRARY_KINDS) expect(await items(kind)).toEqual([]);
  expect((await bodyOf(app.get('/api/library/history'))).changes).toEqual([]);
});

test('the nearest wins: agent, workspace, library; and a change of the library reaches new runs without a deploy', async () => {
  await put('tools/crm.md', TOOL('shared'));
  await put('skills/plain/SKILL.md', SKILL('Shared.'));
  await put('knowledge/house.md', '# House\n');
  const { id, name } = await app.workspace({
    ...WRITER('tools: [crm]\nknowledge: [house]\n'),
    'flows/hello.md': '---\nname: hello\n---\n\n## Say it @writer\n\nFollow [[knowledge/house#House]].\n',
  });
  const told = async () => {
    const { agent, librarySeq, planId } = await planOf(id);
    return {
      librarySeq,
      planId,
      tool: agent?.tools[0]?.path,
      says: agent?.tools[0]?.description,
      skill: agent?.skills[0]?.path,
      knows: agent?.knowledge,
    };
  };
  const first = await told();
  expect(first).toMatchObject({
    librarySeq: 3,
    tool: 'library/tools/crm.md',
    says: 'shared',
    skill: 'library/skills/plain/SKILL.md',
    knows: ['library/knowledge/house.md'],
  });
  expect(await items('tools')).toMatchObject([
    { name: 'crm', description: 'shared', grantedBy: [{ workspace: name, agent: 'writer' }], shadowedIn: [] },
  ]);

  const { docs } = await bodyOf(app.get(`/api/workspaces/${name}/vocabulary`));
  expect(docs).toContainEqual({ path: 'knowledge/house.md', title: 'House', kind: 'knowledge' });
  const changed = await bodyOf(put('tools/crm.md', TOOL('newer')));
  expect(changed.workspaces).toEqual([name]);
  expect(await told()).toMatchObject({ librarySeq: 4, says: 'newer' });
  // A run that began before goes on with what it began with, its subflows too.
  const [row] = await app.deps.db.query<{ revision: string }>(
    'SELECT id AS revision FROM revision WHERE workspace_id = $1',
    [id],
  );
  const at = (librarySeq: number) =>
    pinnedPlan(app.deps.db, { workspaceId: id, revision: row?.revision ?? '', librarySeq }, 'agents/writer');
  expect((await at(3))?.planId).toBe(first.planId);
  expect((await at(4))?.plan.agents.writer?.tools[0]?.description).toBe('newer');
  // What changes no plan makes none, and is the new runs' library all the same.
  expect((await bodyOf(put('memory/seen.md', 'Seen.\n'))).workspaces).toEqual([]);
  expect(await told()).toMatchObject({ librarySeq: 5, says: 'newer' });

  await app.put(`/api/workspaces/${name}/source`, { path: 'tools/crm/tool.md', content: TOOL('own') });
  expect(await told()).toMatchObject({ tool: 'tools/crm/tool.md', says: 'own' });
  expect(await items('tools')).toMatchObject([
    { grantedBy: [], shadowedIn: [{ workspace: name, path: 'tools/crm/tool.md' }] },
  ]);
});

test('a change that would break workspaces is refused, names them, and leaves all as it is', async () => {
  await put('tools/crm.md', TOOL('shared'));
  await put('scripts/days.py', 'print(1)\n');
  const one = await app.workspace(WRITER('tools: [crm]\n'));
  const two = await app.workspace({
    ...SMALL,
    'tools/days.md': '---\ndescription: d\nrun: library/scripts/days.py\n---\n',
  });
  const other = await app.workspace();
  const gone = await app.delete('/api/library/tools?path=tools/crm.md');
  expect([gone.status, await gone.json()]).toEqual([
    422,
    expect.objectContaining({
      code: 'library/breaks',
      error: expect.stringContaining(one.name),
      breaks: [
        { workspace: one.name, issues: [expect.objectContaining({ code: 'ref/tool', path: 'agents/writer.md' })] },
      ],
    }),
  ]);
  expect((await bodyOf(app.delete('/api/library/scripts?path=days.py'))).breaks).toMatchObject([
    { workspace: two.name },
  ]);
  expect(await items('tools')).toHaveLength(1);
  // A secret that a shared tool begins to need is nobody's grant there.
  const needs = `---\nname: crm\ndescription: d\nbase: https://a.example\nheaders:\n  authorization: Bearer \${CRM_TOKEN}\n---\n`;
  expect((await bodyOf(put('tools/crm.md', needs))).breaks[0].issues[0].code).toBe('secret/not-granted');
  expect((await app.delete(`/api/workspaces/${one.name}`)).status).toBe(200);
  expect((await bodyOf(app.delete('/api/library/tools?path=tools/crm.md'))).workspaces).toEqual([]);
  expect((await planOf(other.id)).librarySeq).toBe(3);
  expect((await app.deploy(two.name, WRITER('tools: [crm]\n'), { force: true })).status).toBe(422);
});

test('deploys and changes of the library at once: no plan is of a library that was not live with it', async () => {
  await put('tools/crm.md', TOOL('v0'));
  const { id, name } = await app.workspace(WRITER('tools: [crm]\n'));
  const versions = Array.from({ length: 6 }, (_, n) => `v${n + 1}`);
  const answers = await Promise.all([
    ...versions.map((version) => put('tools/crm.md', TOOL(version))),
    ...versions.map((version) => app.deploy(name, { ...WRITER('tools: [crm]\n'), 'knowledge/v.md': version })),
    ...versions.map((version) =>
      app.post('/api/workspaces', { name: `w-${version}-${name}`, files: fileList(WRITER('tools: [crm]\n')) }),
    ),
  ]);
  expect(answers.map(({ status }) => status).filter((status) => status > 201)).toEqual([]);
  const { content } = await bodyOf(app.get('/api/library/tools?path=tools/crm.md'));
  const live = content.match(/description: (v\d)/)[1];
  const all = await app.deps.db.query<{ id: string }>('SELECT id FROM workspace WHERE tenant_id = $1', [app.tenant]);
  expect(all).toHaveLength(7);
  for (const workspace of all) expect((await planOf(workspace.id)).agent?.tools[0]?.description).toBe(live);
  expect((await planOf(id)).librarySeq).toBe(7);
});

test('security 24: the library is of its account alone, and who is narrowed to workspaces sees theirs in it and writes none', async () => {
  await put('tools/crm.md', TOOL('shared'));
  const [mine, theirs] = await Promise.all([
    app.workspace(WRITER('tools: [crm]\n')),
    app.workspace(WRITER('tools: [crm]\n')),
  ]);
  const person = await createPerson(app, 'admin');
  await app.deps.db.query('UPDATE member SET all_workspaces = false, workspaces = $2 WHERE id = $1', [
    person.id,
    [mine.name],
  ]);
  const cookie = await signedInCookie(app.deps, app.tenant, person);
  const as = { as: null, headers: { cookie, 'sec-fetch-site': 'same-origin' } };
  expect((await items('tools', as))[0].grantedBy).toEqual([{ workspace: mine.name, agent: 'writer' }]);
  for (const refused of [
    await app.post('/api/library/knowledge', { name: 'x' }, as),
    await app.put('/api/library/tools', { path: 'tools/crm.md', content: TOOL('x') }, as),
    await app.delete('/api/library/tools?path=tools/crm.md', as),
  ])
    expect([refused.status, await bodyOf(refused)]).toEqual([
      403,
      expect.objectContaining({ need: 'every workspace' }),
    ]);
  expect((await items('tools'))[0].grantedBy).toHaveLength(2);
  expect(theirs.name).not.toBe(mine.name);

  const stranger = await createTenant(app.deps);
  const foreign = { as: await createKey(app.deps, { ...stranger, role: 'admin' }) };
  expect(await items('tools', foreign)).toEqual([]);
  expect((await app.get('/api/library/tools?path=tools/crm.md', foreign)).status).toBe(404);
  expect((await bodyOf(app.get('/api/library/history', foreign))).changes).toEqual([]);
  // The rows of a library are no workspace's: no name reaches them, and no list shows them.
  for (const name of ['_library', `library.${app.tenant}`])
    for (const verb of ['', '/source', '/history'])
      expect((await app.get(`/api/workspaces/${name}${verb}`)).status).toBe(404);
  const listed: { name: string }[] = (await bodyOf(app.get('/api/workspaces'))).workspaces;
  expect(listed.map(({ name }) => name).sort()).toEqual([mine.name, theirs.name].sort());
});

test('files that a workspace keeps under library/ are its own, and never pass for the account’s', async () => {
  await put('scripts/days.py', 'print(1)\n');
  const tree: Tree = { ...WRITER('tools: [x]\n'), 'library/tools/x.md': TOOL('fake') };
  const { name } = await app.workspace();
  const refused = await app.deploy(name, tree);
  expect((await bodyOf(refused)).issues.map(({ code }: { code: string }) => code)).toContain('ref/tool');
});
