import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { LIBRARY_KINDS, libraryId } from '../../src/content/index.js';
import { createKey, createTenant } from '../support/create-test-app.js';
import { commitAll, createRemoteApp, git, type RemoteApp, readFolder, runGit } from '../support/git-remote.js';
import { loseFolder } from '../support/lose-folder.js';
import { bodyOf, SMALL } from '../support/workspace-app.js';

const REPO = '_library';
const TOOL = (name: string, text = 'hi') =>
  `---\nname: ${name}\ndescription: Says it.\n---\n\n\`\`\`bash\necho ${text}\n\`\`\`\n`;

let app: RemoteApp;
beforeEach(async () => {
  app = await createRemoteApp();
});

function write(folder: string, path: string, content: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}

/** What the API lists of the library, kind for kind, with each file's content. */
async function listed(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const kind of LIBRARY_KINDS) {
    const { items } = await bodyOf(app.get(`/api/library/${kind}`));
    for (const { path } of items)
      found[path] = (await bodyOf(app.get(`/api/library/${kind}?path=${encodeURIComponent(path)}`))).content;
  }
  return found;
}

const push = (folder: string, ...args: string[]) => runGit(folder, 'push', ...args);

/** A clone of a library that has a first commit. */
async function stocked(): Promise<string> {
  const clone = await app.clone(REPO);
  write(clone, 'tools/crm.md', TOOL('crm'));
  write(clone, 'knowledge/prices.md', '---\ntitle: Prices\n---\n\nTea: 3.\n');
  await commitAll(clone, 'The first shelf');
  expect((await push(clone, 'origin', 'main')).code).toBe(0);
  return clone;
}

const history = async () => (await bodyOf(app.get('/api/library/history?limit=200'))).changes;

test('an empty library is cloned, filled by a push, and a clone of it is what the API lists', async () => {
  const clone = await app.clone(REPO);
  expect(readFolder(clone)).toEqual({});
  write(clone, 'tools/crm.md', TOOL('crm'));
  write(clone, 'knowledge/prices.md', '---\ntitle: Prices\n---\n\nTea: 3.\n');
  const commit = await commitAll(clone, 'The first shelf');
  const pushed = await push(clone, 'origin', 'main');
  expect([pushed.code, pushed.err]).toEqual([0, expect.stringContaining('The library is live at')]);
  expect(await listed()).toEqual(readFolder(clone));
  expect((await history())[0]).toMatchObject({ via: 'push', message: 'The first shelf', gitCommit: commit });
  const { entries } = await bodyOf(app.get('/api/audit?limit=5'));
  expect(entries[0]).toMatchObject({ action: 'library.push', detail: { commit } });
});

test('edits by the API and pushes are one line, and a push from before is told to fetch first', async () => {
  const clone = await stocked();
  expect((await app.post('/api/library/skills', { name: 'plain' })).status).toBe(201);
  write(clone, 'tools/other.md', TOOL('other'));
  await commitAll(clone);
  const late = await push(clone, 'origin', 'main');
  expect([late.code, late.err]).toEqual([1, expect.stringMatching(/fetch first/)]);
  await git(clone, 'pull', '-q', '--rebase', 'origin', 'main');
  expect((await push(clone, 'origin', 'main')).code).toBe(0);
  const fresh = readFolder(await app.clone(REPO));
  expect(fresh).toEqual(await listed());
  expect(Object.keys(fresh)).toContain('skills/plain/SKILL.md');
  await git(clone, 'reset', '-q', '--hard', 'HEAD~2');
  write(clone, 'tools/third.md', TOOL('third'));
  await commitAll(clone);
  expect((await push(clone, '--force', 'origin', 'main')).err).toContain('non-fast-forward');
});

test('a push that would break workspaces is refused whole, with what would be wrong in each of them', async () => {
  const agent = SMALL['agents/writer.md']?.replace('description:', 'tools: [crm]\ndescription:') ?? '';
  const clone = await stocked();
  const uses = await app.workspace({ ...SMALL, 'agents/writer.md': agent });
  rmSync(join(clone, 'tools/crm.md'));
  await commitAll(clone, 'No more crm');
  const refused = await push(clone, 'origin', 'main');
  expect(refused.code).toBe(1);
  expect(refused.err).toMatch(new RegExp(`remote: ${uses.name}: agents/writer\\.md:\\d+:\\d+ `));
  expect(refused.err).toContain(`this would break ${uses.name}`);
  expect(Object.keys(await listed())).toContain('tools/crm.md');
  expect((await app.delete(`/api/workspaces/${uses.name}`)).status).toBe(200);
  expect((await push(clone, 'origin', 'main')).code).toBe(0);
  expect(Object.keys(await listed())).not.toContain('tools/crm.md');
});

test('a fault of the library itself is told by file and line, and nothing is applied', async () => {
  const clone = await stocked();
  write(clone, 'tools/bad.md', '---\nname: [\n---\n');
  write(clone, 'runs/x.md', 'no');
  await commitAll(clone);
  const refused = await push(clone, 'origin', 'main');
  expect(refused.code).toBe(1);
  expect(refused.err).toMatch(/remote: runs\/x\.md:1:1 tree\/protected-path/);
  expect(refused.err).toMatch(/remote: tools\/bad\.md:\d+:\d+ /);
  expect(Object.keys(await listed())).not.toContain('tools/bad.md');
});

test('the library has one branch and no tags, and main stays', async () => {
  const clone = await stocked();
  for (const ref of ['HEAD:refs/heads/try', 'HEAD:refs/tags/v1', 'HEAD:refs/service/x', ':refs/heads/main']) {
    const refused = await push(clone, 'origin', ref);
    expect([ref, refused.code, refused.err]).toEqual([
      ref,
      1,
      expect.stringMatching(/one branch, main|only branches|cannot be deleted/),
    ]);
  }
  expect(await git(clone, 'ls-remote', 'origin')).not.toMatch(/try|v1|service/);
});

test('five pushes at once: one line, each in it once, and the clone is what the API lists', async () => {
  const before = Number(await git(await stocked(), 'rev-list', '--count', 'HEAD'));
  const clones = await Promise.all([1, 2, 3, 4, 5].map(() => app.clone(REPO)));
  await Promise.all(
    clones.map(async (clone, n) => {
      write(clone, `tools/at-once-${n}.md`, TOOL(`at-once-${n}`));
      await commitAll(clone, `At once ${n}`);
      for (;;) {
        const { code, err } = await push(clone, 'origin', 'main');
        if (code === 0) return;
        expect(err).toMatch(/fetch first|moved/);
        await git(clone, 'pull', '-q', '--rebase', 'origin', 'main');
      }
    }),
  );
  const clone = await app.clone(REPO);
  expect(Number(await git(clone, 'rev-list', '--count', 'HEAD'))).toBe(before + 5);
  expect(await git(clone, 'rev-list', '--merges', '--count', 'HEAD')).toBe('0');
  expect(readFolder(clone)).toEqual(await listed());
  expect(await git(clone, 'fsck', '--full', '--strict')).toBe('');
});

test('a library whose repository was lost is cloned as it was, commit for commit', async () => {
  const tip = await git(await stocked(), 'rev-parse', 'HEAD');
  loseFolder(join(app.deps.config.dataDir, 'git', `${libraryId(app.tenant)}.git`));
  const clone = await app.clone(REPO);
  expect(await git(clone, 'rev-parse', 'HEAD')).toBe(tip);
  expect(readFolder(clone)).toEqual(await listed());
});

test('editors who see every workspace push, who is narrowed only reads, and no deploy key opens it', async () => {
  const { name } = await app.workspace();
  const keys = {
    viewer: await createKey(app.deps, { ...app, role: 'viewer' }),
    narrowed: await createKey(app.deps, { ...app, role: 'editor', workspaces: [name] }),
    editor: await createKey(app.deps, { ...app, role: 'editor' }),
  };
  const deploy = await bodyOf(app.post('/api/keys', { label: 'ci', workspace: name, access: 'write' }));
  const foreign = await createTenant(app.deps);
  const other = await createKey(app.deps, { ...foreign, role: 'admin' });
  for (const key of [deploy.key, other]) {
    const clone = await runGit(app.home, 'clone', '-q', app.url(REPO, key), join(app.home, 'none'));
    expect([clone.code, clone.err]).toEqual([128, expect.stringContaining('not found')]);
  }
  for (const [who, key] of Object.entries(keys)) {
    const clone = await app.clone(REPO, key);
    write(clone, 'tools/by.md', TOOL('by', who));
    await commitAll(clone);
    const { code, err } = await push(clone, 'origin', 'main');
    expect([who, code]).toEqual([who, who === 'editor' ? 0 : 128]);
    if (code !== 0) expect(err).toMatch(/needs role editor|limited to some workspaces/);
  }
});

test('the account’s AGENTS.md is in the clone, an admin’s to change by a push, and sets what PATCH sets', async () => {
  expect((await app.patch('/api/account', { timezone: 'Europe/Vienna', budget: 5 })).status).toBe(200);
  const editor = await createKey(app.deps, { ...app, role: 'editor' });
  const clone = await app.clone(REPO, editor);
  const file = readFolder(clone)['AGENTS.md'] ?? '';
  expect(file).toContain('budget: 5');
  write(clone, 'AGENTS.md', file.replace('budget: 5', 'budget: 5000'));
  await commitAll(clone, 'Richer');
  const refused = await push(clone, 'origin', 'main');
  expect([refused.code, refused.err]).toEqual([1, expect.stringMatching(/needs role admin to change AGENTS\.md/)]);
  expect(await bodyOf(app.get('/api/account'))).toMatchObject({ budget: 5 });
  expect((await push(clone, app.url(REPO), 'main')).code).toBe(0);
  expect(await bodyOf(app.get('/api/account'))).toMatchObject({ budget: 5000, timezone: 'Europe/Vienna' });
  write(clone, 'AGENTS.md', '---\ntimezone: Mars/Olympus\n---\n');
  await commitAll(clone, 'Further');
  const unsound = await push(clone, app.url(REPO), 'main');
  expect([unsound.code, unsound.err]).toEqual([1, expect.stringMatching(/remote: AGENTS\.md:\d+:\d+ .*time zone/)]);
  await git(clone, 'rm', '-q', 'AGENTS.md');
  await commitAll(clone, 'None');
  expect((await push(clone, app.url(REPO), 'main')).code).toBe(0);
  expect(await bodyOf(app.get('/api/account'))).toMatchObject({ budget: null, timezone: null });
});

test('an AGENTS.md that was kept beside the library is in the next clone', async () => {
  const own = await createRemoteApp();
  await own.deps.db.query(`INSERT INTO library_file (tenant_id, path, content) VALUES ($1, 'AGENTS.md', $2)`, [
    own.tenant,
    Buffer.from('---\nbudget: 3\n---\n'),
  ]);
  expect(readFolder(await own.clone(REPO))).toEqual({ 'AGENTS.md': '---\nbudget: 3\n---\n' });
  expect(await own.deps.db.query('SELECT 1 FROM library_file WHERE tenant_id = $1', [own.tenant])).toEqual([]);
  const [{ by }] = (await bodyOf(own.get('/api/library/history'))).changes;
  expect(by).toMatchObject({ kind: 'system' });
});
