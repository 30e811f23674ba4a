import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ToolContext } from '../../src/tools/index.js';
import { codeTool, createToolLane } from '../support/tool-lane.js';

/** What a call tells of its preparation. */
function told() {
  const events: string[] = [];
  const tell: ToolContext['tell'] = (type) => void events.push(type);
  return { events, tell };
}

test('packages of both languages are prepared once, found wherever a program lies, and shared by all programs of the step', async () => {
  const { call, ok, context, deps } = await createToolLane();
  const runtime = { python: '3', node: '20', packages: ['pip:six==1.17.0', 'npm:is-number@7.0.0'] };
  const python = codeTool('python', 'import six, sys; print(six.__version__, sys.prefix)', { runtime });
  const node = codeTool('js', "import isNumber from 'is-number'; console.log(isNumber(5))", { name: 'node', runtime });
  const agent = { ...context.agent, tools: [python, node] };
  const { events, tell } = told();
  // Two at once: one prepares, the other waits for it.
  const both = await Promise.all([call('tool', {}, { agent, tell }), call('node', {}, { agent, tell })]);
  expect(both.map(({ text }) => text)).toEqual(['1.17.0 /runtime/python\n', 'true\n']);
  expect(events).toEqual(['sandbox.preparing', 'sandbox.prepared']);

  const bash = { agent: { ...context.agent, runtime }, tell };
  const command = `cat > x.mjs <<< "import n from 'is-number'; console.log(n(1))"; node x.mjs; python3 -c "import six"; touch /runtime/x /node_modules/x`;
  const outcome = await call('Bash', { command }, bash);
  expect(outcome.text).toContain('true\n');
  expect(outcome.text.match(/Read-only file system/g)).toHaveLength(2);
  expect(events).toHaveLength(2);
  const kept = await readdir(join(deps.config.dataDir, 'sandbox', 'runtimes'));
  expect(kept.filter((name) => name !== 'new')).toHaveLength(1);
  expect(await readdir(join(deps.config.dataDir, 'sandbox', 'runtimes', 'new'))).toEqual([]);
  // A runtime that the machine has needs nothing.
  expect(await ok('Bash', { command: 'ls -d /runtime 2>&1 | wc -l; echo $PATH' }, { ...bash, agent: { ...context.agent, runtime: { python: '3' } } })).not.toContain('/runtime/');
});
