import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createNet } from '../../src/platform/net/index.js';
import type { ToolContext } from '../../src/tools/index.js';
import { findEntry, makeRoom } from '../../src/tools/runtime/runtime-cache.js';
import { REGISTRY_PASSWORD, REGISTRY_TOKEN, REGISTRY_USER, startRegistry } from '../support/package-registry.js';
import { codeTool, createToolLane } from '../support/tool-lane.js';

const PACKAGES = { python: '3', packages: ['greet', 'npm:greet@1.0.0'] };

/** A lane on a machine whose pip and npm know one registry, and what calls tell of preparations. */
async function laneWithRegistry() {
  const registry = await startRegistry();
  const net = createNet({ config: { allowHosts: [], version: '1' }, resolve: registry.resolve });
  const lane = await createToolLane({ net });
  const events: string[] = [];
  const said: string[] = [];
  const emit: ToolContext['emit'] = (type, data) => void events.push(`${type} ${JSON.stringify(data)}`);
  const onOutput = (chunk: string) => void said.push(chunk);
  const with_ = (runtime: ToolContext['agent']['runtime'], more: Partial<ToolContext> = {}) => ({
    agent: { ...lane.context.agent, runtime },
    emit,
    onOutput,
    ...more,
  });
  const cache = join(lane.deps.config.dataDir, 'sandbox', 'runtimes');
  const kept = async () => (await readdir(cache)).filter((name) => name !== 'new');
  return { ...lane, ...registry, events, said, with: with_, cache, kept };
}

test('packages of both languages are prepared once, found wherever a program lies, and serve all programs of the step', async () => {
  const { call, with: wanting, context, events, kept, cache, asked } = await laneWithRegistry();
  const python = codeTool('python', 'import greet; print(greet.hello())', { runtime: PACKAGES });
  const node = codeTool('js', "import greet from 'greet'; console.log(greet())", { name: 'node', runtime: PACKAGES });
  const own = wanting({}, { agent: { ...context.agent, tools: [python, node] } });
  // Two at once: one prepares, the other waits for it.
  const both = await Promise.all([call('tool', {}, own), call('node', {}, own)]);
  expect(both.map(({ text }) => text)).toEqual(['hello from a wheel\n', 'hello from npm\n']);
  expect(events.map((event) => event.split(' ')[0])).toEqual(['sandbox.preparing', 'sandbox.prepared']);

  // AGENTS.md, the agent and the tool add up; the same wish in another place is the same environment.
  const plan = { ...context.plan, workspace: { ...context.plan.workspace, runtime: { python: '3' } } };
  const command = `cat > x.mjs <<< "import greet from 'greet'; console.log(greet())"; node x.mjs; python3 -c 'import greet'; greet; ls /runtime; touch /runtime/x /node_modules/x`;
  const { text } = await call('Bash', { command }, wanting({ packages: ['npm:greet@1.0.0', 'greet'] }, { plan }));
  expect(text).toContain('hello from npm\n');
  expect(text).not.toContain('ran-a-script');
  expect(text.match(/Read-only file system/g)).toHaveLength(2);
  expect([events.length, await kept()]).toEqual([2, [expect.stringMatching(/^[0-9a-f]{64}$/)]]);
  expect(await readdir(join(cache, 'new'))).toEqual([]);
  expect(asked.filter((path) => path.endsWith('.whl') || path.endsWith('.tgz'))).toHaveLength(2);
});

test('what cannot be prepared is a sentence in the step, nothing of it stays, and no credential of the registry is told', async () => {
  const { fails, ok, with: wanting, events, said, kept, cache } = await laneWithRegistry();
  const command = { command: 'true' };
  const missing = await fails('Bash', command, wanting({ packages: ['pip:nowhere==1.0'] }));
  expect(missing).toContain('runtime: it could not be prepared');
  expect(missing).toContain('nowhere');
  expect(await fails('Bash', command, wanting({ packages: ['pip:sourced'] }))).toContain('come built (wheels)');
  expect(await fails('Bash', command, wanting({ packages: ['npm:nowhere'] }))).toContain('404');
  expect(await fails('Bash', command, wanting({ python: '2' }))).toContain('no Python 2');
  expect(await fails('Bash', command, wanting({ packages: ['greet'] }))).toContain('write pip:greet or npm:greet');
  expect(await fails('Bash', command, wanting({ packages: ['--index-url=http://x'] }))).toContain('package name');
  expect(await ok('Bash', command, wanting({ python: '3' }))).toBe('(no output)');
  expect([await kept(), await readdir(join(cache, 'new'))]).toEqual([[], []]);
  expect(events.map((event) => event.split(' ')[0])).toEqual(
    Array(3).fill(['sandbox.preparing', 'sandbox.unprepared']).flat(),
  );
  for (const secret of [REGISTRY_USER, REGISTRY_PASSWORD, REGISTRY_TOKEN])
    expect([...events, ...said, missing].join('\n')).not.toContain(secret);
});

test('a run that is stopped while it prepares leaves it to the one that waits', async () => {
  const { call, other, with: wanting, deps, context } = await laneWithRegistry();
  const second = await other({ run: 'another-run-of-the-same' });
  const stop = new AbortController();
  const command = { command: 'python3 -c "import greet; print(greet.hello())"' };
  const stopping = wanting({ packages: ['pip:greet'] }, { signal: stop.signal, emit: () => void stop.abort() });
  const first = call('Bash', command, stopping);
  const next = second.ok('Bash', command, wanting({ packages: ['pip:greet'] }));
  await expect(first).rejects.toThrow();
  expect(await next).toBe('hello from a wheel\n');
  await deps.sandbox.kill(context.run.id);
});

test('environments without a user make room, those in use stay, and what dead workers left half done goes', async () => {
  const { cache } = await laneWithRegistry();
  const place = { root: cache, uid: undefined };
  const hash = (digit: string) => digit.repeat(64);
  const aged = async (folder: string, minutes: number, file = '') => {
    await mkdir(join(folder, 'env'), { recursive: true });
    if (file !== '') await writeFile(join(folder, file), JSON.stringify({ bytes: 100, hasNodeModules: false }));
    const then = new Date(Date.now() - minutes * 60_000);
    await utimes(join(folder, file), then, then);
  };
  await aged(join(cache, hash('a')), 500, 'made');
  await aged(join(cache, hash('b')), 30, 'made');
  await aged(join(cache, hash('c')), 5, 'made');
  await aged(join(cache, 'new', 'left'), 300);
  await aged(join(cache, 'new', 'mine'), 5);
  await makeRoom(place, { bytes: 250, entries: 10 });
  expect((await readdir(cache)).sort()).toEqual([hash('b'), hash('c'), 'new'].sort());
  expect(await readdir(join(cache, 'new'))).toEqual(['mine']);
  // Whoever takes one up keeps it.
  expect(await findEntry(place, hash('b'))).toMatchObject({ host: join(cache, hash('b'), 'env') });
  await makeRoom(place, { bytes: 0, entries: 0 });
  expect((await readdir(cache)).sort()).toEqual([hash('b'), hash('c'), 'new'].sort());
});

test('without a sandbox a runtime that the machine has is enough, and packages are refused in words', async () => {
  const { ok, fails, context } = await createToolLane({ driver: 'none' });
  const wanting = (runtime: ToolContext['agent']['runtime']) => ({ agent: { ...context.agent, runtime } });
  expect(await ok('Bash', { command: 'python3 -c "print(1)"' }, wanting({ python: '3' }))).toBe('1\n');
  expect(await fails('Bash', { command: 'true' }, wanting({ packages: ['pip:greet'] }))).toContain(
    'SERVICE_SANDBOX is none',
  );
});
