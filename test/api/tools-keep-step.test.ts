import { chmod, mkdir, readFile, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newId } from '../../src/shared/ids.js';
import { dropLane, openLane } from '../../src/tools/index.js';
import { givenSecrets } from '../support/given-secrets.js';
import { createToolLane, type ToolLane } from '../support/tool-lane.js';

const stored = ({ deps, context }: ToolLane) =>
  deps.db.query<{ path: string }>('SELECT path FROM storage_entry WHERE workspace_id = $1 ORDER BY path', [
    context.run.workspaceId,
  ]);
const archived = ({ deps, context }: ToolLane) =>
  deps.db.query<{ path: string; agent: string; step: string; size: bigint }>(
    'SELECT path, agent, step, size FROM run_file WHERE run_id = $1 ORDER BY agent, path',
    [context.run.id],
  );
const paths = (rows: readonly { readonly path: string }[]) => rows.map(({ path }) => path);

test('a step leaves its outputs in the archive of the run and in the workspace, and files/ by their own path', async () => {
  const lane = await createToolLane();
  await lane.ok('Write', { path: 'outputs/report.md', content: 'A report' });
  await lane.ok('Bash', {
    command:
      'mkdir -p outputs/charts files && echo 1,2 > outputs/charts/a.csv && echo x > files/list.txt && echo no > scratch',
  });
  expect((await lane.keep()).map(({ path, size }) => [path, size]).sort()).toEqual([
    ['files/list.txt', 2],
    ['outputs/writer/charts/a.csv', 4],
    ['outputs/writer/report.md', 8],
  ]);
  expect(await archived(lane)).toEqual([
    { path: 'outputs/charts/a.csv', agent: 'writer', step: 'draft', size: 4n },
    { path: 'outputs/report.md', agent: 'writer', step: 'draft', size: 8n },
  ]);
  expect(paths(await stored(lane))).toEqual([
    'files/list.txt',
    'outputs/writer/charts/a.csv',
    'outputs/writer/report.md',
  ]);
});

test('only what changed is kept again, also when a program turned its clock back', async () => {
  const lane = await createToolLane();
  await lane.ok('Write', { path: 'outputs/a.md', content: 'one' });
  await lane.ok('Write', { path: 'outputs/b.md', content: 'two' });
  expect(await lane.keep()).toHaveLength(2);
  expect(await lane.keep()).toEqual([]);
  await lane.ok('Write', { path: 'outputs/a.md', content: 'one' });
  expect(await lane.keep()).toEqual([]);
  const file = join(lane.context.folder.work, 'outputs/b.md');
  const before = await stat(file);
  await writeFile(file, 'TWO');
  await utimes(file, before.atime, before.mtime);
  expect(paths(await lane.keep())).toEqual(['outputs/writer/b.md']);
});

test("an eval's run archives, and leaves the workspace alone", async () => {
  const lane = await (await createToolLane()).other({ mode: 'eval', run: `e${Date.now()}` });
  await lane.ok('Write', { path: 'outputs/a.md', content: 'one' });
  await lane.ok('Write', { path: 'files/b.md', content: 'two' });
  await lane.ok('save_to_storage', { path: 'storage/c.md', content: 'three' });
  await lane.keep();
  expect(paths(await archived(lane))).toEqual(['outputs/a.md']);
  expect(await stored(lane)).toEqual([]);
});

test('a step that no longer holds its lane keeps nothing', async () => {
  const lane = await createToolLane();
  await lane.ok('Write', { path: 'outputs/a.md', content: 'one' });
  await expect(lane.keep({ guard: () => Promise.reject(new Error('fenced')) })).rejects.toThrow('fenced');
  expect(await stored(lane)).toEqual([]);
  expect(await lane.keep()).toHaveLength(1);
});

test('security 23: links, pipes, sockets and huge files that a program left are named and never opened', async () => {
  const lane = await createToolLane();
  const { work } = lane.context.folder;
  await writeFile(join(lane.deps.config.dataDir, 'install-keys'), 'canary');
  await mkdir(join(lane.deps.config.dataDir, 'private'));
  await writeFile(join(lane.deps.config.dataDir, 'private/x'), 'canary');
  await symlink(join(lane.deps.config.dataDir, 'install-keys'), join(work, 'outputs/key'));
  await symlink(join(lane.deps.config.dataDir, 'private'), join(work, 'outputs/folder'));
  await symlink('/dev/zero', join(work, 'files/zero'));
  await lane.ok('Bash', {
    command:
      'mkfifo outputs/pipe; cd outputs; python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\'sock\')"; touch "$(printf "bad\\nname")"; echo good > good.txt',
  });
  await writeFile(join(work, 'outputs/sparse'), '');
  await truncate(join(work, 'outputs/sparse'), 2 ** 40);
  const ignored: Record<string, string> = {};
  const { keepStep } = await import('../../src/tools/index.js');
  const kept = await keepStep(lane.deps, lane.context, (path, why) => {
    ignored[path] = why;
  });
  expect(paths(kept)).toEqual(['outputs/writer/good.txt']);
  expect(ignored).toEqual({
    'outputs/key': 'it is not a regular file',
    'outputs/folder': 'it is not a regular file',
    'files/zero': 'it is not a regular file',
    'outputs/pipe': 'it is not a regular file',
    'outputs/sock': 'it is not a regular file',
    '"outputs/bad\\nname"': 'the path holds a control character',
    'outputs/sparse': expect.stringContaining('over the limit'),
  });
});

test('security 23: outputs/ that a program replaced by a link, or hid, is not followed', async () => {
  const lane = await createToolLane();
  const { work } = lane.context.folder;
  await mkdir(join(lane.deps.config.dataDir, 'private'));
  await writeFile(join(lane.deps.config.dataDir, 'private/x'), 'canary');
  await rm(join(work, 'outputs'), { recursive: true });
  await symlink(join(lane.deps.config.dataDir, 'private'), join(work, 'outputs'));
  await mkdir(join(work, 'files/closed'));
  await chmod(join(work, 'files/closed'), 0o000);
  expect(await lane.keep()).toEqual([]);
  expect(await lane.fails('Write', { path: 'outputs/new.md', content: 'x' })).toContain('cannot be written');
  await expect(readFile(join(lane.deps.config.dataDir, 'private/new.md'))).rejects.toThrow('ENOENT');
});

test('security 18: a secret that a program wrote down is not stored', async () => {
  const lane = await createToolLane();
  const secrets = givenSecrets({ TOKEN: 'canary-s3cret-ü' });
  await lane.ok('Bash', {
    command:
      'printf "key=%s end" "canary-s3cret-ü" > outputs/a.txt; printf "canary-s3cret-ü" | base64 > files/b.txt; printf "\\377\\0binary" > files/c',
  });
  await lane.keep({ secrets });
  const rows = await lane.deps.db.query<{ path: string; sha: string }>(
    'SELECT path, sha FROM storage_entry WHERE workspace_id = $1 ORDER BY path',
    [lane.context.run.workspaceId],
  );
  const contents = await Promise.all(
    rows.map(async ({ sha }) => Buffer.from((await lane.deps.blobs.get(sha)) ?? []).toString('latin1')),
  );
  expect(contents).toEqual([expect.stringMatching(/^\[secret TOKEN\]/), '\xff\0binary', 'key=[secret TOKEN] end']);
});

test('a lane that is made anew has files/ and outputs/ back, and is told when it was cut in the middle of a step', async () => {
  const lane = await createToolLane();
  const { deps, context } = lane;
  await lane.ok('Bash', {
    command: 'echo kept > files/a.txt; echo out > outputs/b.txt; echo gone > scratch; chmod 000 scratch',
  });
  await lane.keep();
  expect((await openLane(deps, context.run, 'main')).fresh).toBe(false);
  await dropLane(deps, context.run.id);
  await expect(stat(context.folder.root)).rejects.toThrow('ENOENT');
  await deps.db.query(`INSERT INTO step (run_id, id, lane, status) VALUES ($1, 'draft', 'main', 'running')`, [
    context.run.id,
  ]);
  const again = async () => {
    const opened = await openLane(deps, context.run, 'main');
    await dropLane(deps, context.run.id);
    return opened.fresh;
  };
  expect(await again()).toBe(false);
  await deps.db.query(
    `INSERT INTO call (run_id, step, item, round, attempt, epoch, turn, call, lane, kind, name, acts, state, fence)
     VALUES ($1, 'draft', 0, 1, 1, 0, 1, 1, 'main', 'tool', 'Bash', true, 'finished', 1)`,
    [context.run.id],
  );
  expect(await again()).toBe(true);
  const rebuilt = await lane.other({});
  expect(await rebuilt.ok('Bash', { command: 'cat files/a.txt outputs/b.txt; ls; echo more >> files/a.txt' })).toMatch(
    /^kept\nout\n(?!.*scratch)/s,
  );
  expect(paths(await rebuilt.keep())).toEqual(['files/a.txt']);
});

test('a lane sees what another kept, but for what it has changed itself', async () => {
  const main = await createToolLane();
  const branch = await main.other({ lane: 'group.1' });
  await main.ok('Write', { path: 'files/mine.txt', content: 'of main' });
  await branch.ok('Write', { path: 'files/shared.txt', content: 'of the branch' });
  await branch.ok('Write', { path: 'files/mine.txt', content: 'of the branch' });
  await branch.keep();
  await openLane(main.deps, main.context.run, 'main');
  expect(await main.ok('Read', { path: 'files/shared.txt' })).toBe('of the branch');
  expect(await main.ok('Bash', { command: 'cat files/mine.txt' })).toBe('of main');
  await main.keep();
  await branch.ok('Read', { path: 'files/mine.txt' });
  await openLane(main.deps, main.context.run, 'group.1');
  expect(await branch.ok('Read', { path: 'files/mine.txt' })).toBe('of main');
});

test('save_to_storage stores text or a file for good, and refuses what is neither', async () => {
  const lane = await createToolLane();
  await lane.ok('Write', { path: 'outputs/a.csv', content: '1,2' });
  expect(await lane.ok('save_to_storage', { path: 'storage/may/a.csv', from: 'outputs/a.csv' })).toBe(
    'saved storage/may/a.csv (3 bytes)',
  );
  await lane.ok('save_to_storage', { path: 'storage/note.md', content: 'Hello' });
  expect(await lane.ok('Read', { path: 'storage/note.md' })).toBe('Hello');
  const rows = await lane.deps.db.query(
    'SELECT path, size, type FROM storage_entry WHERE workspace_id = $1 ORDER BY path',
    [lane.context.run.workspaceId],
  );
  expect(rows).toEqual([
    { path: 'storage/may/a.csv', size: 3n, type: 'text/csv' },
    { path: 'storage/note.md', size: 5n, type: 'text/markdown' },
  ]);
  expect(await lane.fails('save_to_storage', { path: 'note.md', content: 'x' })).toContain(
    'give a path like storage/note.md',
  );
  expect(await lane.fails('save_to_storage', { path: 'storage/x' })).toContain('either "from" or "content"');
  expect(await lane.fails('save_to_storage', { path: 'storage/x', from: 'knowledge/x.md' })).toContain(
    'under outputs/ or files/',
  );
  expect(await lane.fails('save_to_storage', { path: 'storage/x', from: 'outputs/none' })).toContain(
    'there is no file',
  );
});

test('a stored path below a stored file does not keep any later run of the workspace from its lane', async () => {
  const lane = await createToolLane();
  await lane.ok('Write', { path: 'files/notes', content: 'a file' });
  await lane.keep();
  await lane.ok('Bash', { command: 'rm files/notes && mkdir files/notes && echo inner > files/notes/a.txt' });
  await lane.keep();
  expect(paths(await stored(lane))).toEqual(['files/notes', 'files/notes/a.txt']);
  const next = await lane.other({ run: newId() });
  expect(await next.ok('Read', { path: 'files/notes' })).toBe('a file');
  expect(await next.ok('Read', { path: 'files/notes/a.txt' })).toBe('inner\n');
});

test('a worker killed while it restored a lane leaves no old copy that the next one would store over newer work', async () => {
  const writer = await createToolLane();
  await writer.ok('Write', { path: 'files/a.txt', content: 'old' });
  await writer.ok('Write', { path: 'files/b.txt', content: 'other' });
  await writer.keep();
  // The death: the second of the two copies never comes, and nothing after it is done.
  const { deps, context } = writer;
  let copies = 0;
  const get = async (sha: string) => {
    copies += 1;
    if (copies === 2) throw new Error('killed');
    return deps.blobs.get(sha);
  };
  const late = { ...context.run, id: newId() };
  await expect(openLane({ ...deps, blobs: { ...deps.blobs, get } }, late, 'main')).rejects.toThrow('killed');
  await writer.ok('Write', { path: 'files/a.txt', content: 'newer' });
  await writer.ok('Write', { path: 'files/b.txt', content: 'newer' });
  await writer.keep();
  const successor = await writer.other({ run: late.id });
  expect(await successor.ok('Bash', { command: 'cat files/a.txt files/b.txt' })).toContain('newernewer');
  expect(await successor.keep()).toEqual([]);
});

test('a folder that a killed worker left half made is made whole', async () => {
  const lane = await createToolLane();
  const { deps, context } = lane;
  await dropLane(deps, context.run.id);
  await mkdir(join(context.folder.root, 'work', 'files'), { recursive: true });
  await openLane(deps, context.run, 'main');
  await lane.ok('Bash', { command: 'echo kept > files/a.txt && cat files/a.txt' });
});
