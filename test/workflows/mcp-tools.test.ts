import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { FakeAnswer } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { createPlayedApp } from '../support/played-app.js';

const call = (name: string, args = {}): FakeAnswer => ({ calls: [{ name, args }] });
const gate = '- approve: human\n';

test('a server serves the steps that one advance goes through, no park; a gate holds its call; its death is told', async () => {
  const source = await readFile(new URL('../support/mcp-server.mjs', import.meta.url), 'utf8');
  const answers: FakeAnswer[] = [
    call('srv__count'),
    { text: 'one' },
    call('near__count'),
    call('srv__count'),
    { text: 'two' },
    call('srv__count'),
    call('srv__args', { pay: 1 }),
    call('srv__die'),
    call('srv__env'),
    { text: 'three' },
  ];
  let turn = 0;
  const { app, provider } = await createPlayedApp(() => answers[turn++] ?? { text: 'over' });
  const secret = 'canary-secret-1234';
  await app.put('/api/secrets', { name: 'KEY', value: secret });
  const workspace = await app.workspace({
    '.mcp.json': JSON.stringify({ mcpServers: { near: { command: 'node', args: ['tools/srv/server.mjs', 'well'] } } }),
    'agents/worker.md':
      '---\ndescription: Works.\ntools: [srv, near.count]\nsecrets: [KEY]\napprove: [srv.args]\n---\n\nYou work.\n',
    'flows/f.md': flow(
      `## One @worker\n\n${'Do it.'}\n\n## Two @worker\n\nGo on.\n\n## Agree\n\n${gate}\n## Three @worker\n\nEnd it.`,
    ),
    'tools/srv/tool.md':
      '---\ndescription: A server.\ncommand: node\nargs: [server.mjs, well]\nenv: { TOKEN: "${KEY}" }\n---\n',
    'tools/srv/server.mjs': source,
  });
  const id = await app.start(workspace, 'f');
  const programs = () => app.deps.db.query('SELECT 1 FROM sandbox_process WHERE run_id = $1', [id]);
  const approve = () => app.post(`/api/workspaces/${workspace}/runs/${id}/approve`, { decision: 'approve' });
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval');
  await expect.poll(programs).toEqual([]);
  await approve();
  await app.until(workspace, id, (run) => run.status === 'awaiting-approval' && run.steps[2]?.status === 'completed');
  await expect.poll(programs).toEqual([]);
  await approve();
  const run = await app.ended(workspace, id);
  expect([run.status, run.error]).toEqual(['completed', null]);
  await expect.poll(programs).toEqual([]);
  const rows = await app.deps.db.query<{ name: string; acts: boolean; text: string }>(
    `SELECT name, acts, result->>'text' AS text FROM call WHERE run_id = $1 AND kind = 'tool' ORDER BY step = 'three', step = 'two', turn`,
    [id],
  );
  expect(rows).toEqual([
    { name: 'srv__count', acts: false, text: '1' },
    { name: 'near__count', acts: false, text: '1' },
    { name: 'srv__count', acts: false, text: '2' },
    // The park was over a lane that held nothing: the server that it finds is a new one.
    { name: 'srv__count', acts: false, text: '1' },
    { name: 'srv__args', acts: true, text: '{"pay":1}' },
    { name: 'srv__die', acts: true, text: expect.stringContaining('interrupted, may have partly run') },
    { name: 'srv__env', acts: true, text: expect.stringContaining('was started again') },
  ]);
  expect(rows.at(-1)?.text).toContain('[secret KEY]');
  expect(JSON.stringify(provider.calls.map(({ body }) => body))).not.toContain(secret);
  const shown = JSON.stringify(provider.calls[0]?.body);
  expect(shown).toContain('near__count');
  expect(shown).not.toContain('near__env');
});
