import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EngineApp } from '../support/create-engine-app.js';
import type { FakeAnswer, FakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { createPlayedApp } from '../support/played-app.js';

let app: EngineApp;
let provider: FakeProvider;
beforeAll(async () => {
  ({ app, provider } = await createPlayedApp());
});
afterAll(() => provider.close());

const JSON_STEP = '## One @worker\n\n- output: json\n\nScore it.\n\n```yaml schema\nscore: integer\n```';

async function play(body: string, answer: (n: number) => FakeAnswer) {
  const before = provider.calls.length;
  provider.respond(({ n }) => answer(n - before));
  const workspace = await app.workspace({
    'AGENTS.md': '---\nmodels: { default: fake }\n---\n\nBe brief.\n',
    'agents/worker.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n',
    'flows/one.md': flow(body),
  });
  const id = await app.start(workspace, 'one');
  const run = await app.ended(workspace, id);
  const page = await app.get(`/api/workspaces/${workspace}/runs/${id}/transcript?step=one`);
  const { messages } = (await page.json()) as { messages: { text: string; reasoning?: string }[] };
  return { run, messages, calls: provider.calls.slice(before) };
}

test.each([
  ['reasoning before it', '<think>It is {good}.\n</think>\n\n{"score": 7}'],
  ['prose around it', 'Here it is: {"score": 7}. Anything else?'],
  ['a fence that is not closed', '```json\n{"score": 7}'],
  ['another value beside it', 'As [1] says:\n```json\n{"score": 7}\n```'],
])('JSON with %s is the answer, by one call', async (_name, text) => {
  const { run, calls } = await play(JSON_STEP, () => ({ text }));
  expect(run).toMatchObject({ status: 'completed', steps: [{ data: { score: 7 }, result: '{"score": 7}' }] });
  expect(calls).toHaveLength(1);
});

test('two JSON values that both fit are asked about', async () => {
  const { run, calls } = await play(JSON_STEP, (n) => ({
    text: n === 1 ? '{"score": 7} or {"score": 8}' : '{"score": 8}',
  }));
  expect(run).toMatchObject({ status: 'completed', steps: [{ data: { score: 8 } }] });
  expect(calls[1]?.prompt).toContain('it holds 2 JSON values, and one is asked for');
});

test('reasoning within the text is shown as reasoning, and is neither the result nor sent back', async () => {
  const { run, messages, calls } = await play('## One @worker\n\nSay it.', (n) =>
    n === 1
      ? { text: '<think>I look first.</think>', calls: [{ name: 'Glob', args: { pattern: '*' } }] }
      : { text: '<think>It is tea.</think>\n\nTea.' },
  );
  expect(run).toMatchObject({ status: 'completed', steps: [{ result: 'Tea.' }] });
  expect(messages.flatMap(({ text, reasoning }) => (reasoning ? [{ text, reasoning }] : []))).toEqual([
    { text: '', reasoning: 'I look first.' },
    { text: 'Tea.', reasoning: 'It is tea.' },
  ]);
  expect(calls[1]?.prompt).not.toContain('I look first.');
});
