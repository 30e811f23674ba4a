import { expect, test } from 'vitest';
import { parameters, text } from '../../src/tools/arguments.js';
import { realCall } from '../../src/tools/catalogue/call-tool.js';
import { listTools, MAX_LISTED } from '../../src/tools/catalogue/list-tools.js';
import type { AgentTool, CallContext } from '../../src/tools/contract.js';
import { nameOperations } from '../../src/tools/names.js';

function toolsOf(tool: string, operations: Readonly<Record<string, string>>): AgentTool[] {
  return nameOperations(
    tool,
    Object.entries(operations).map(([operation, description]) => ({
      operation,
      description,
      parameters: parameters({ id: text('Which one.') }, ['id']),
      acts: () => false,
      program: false,
      run: async () => ({ text: operation, isError: false }),
    })),
  );
}
const many = (tool: string, count: number) =>
  toolsOf(tool, Object.fromEntries(Array.from({ length: count }, (_, n) => [`op${n}`, `Number ${n} of them.`])));
const names = (tools: ReturnType<typeof listTools>) => tools.listed.map(({ name }) => name);

test('up to 40 tools are listed; over that the tool with the most operations is searched', () => {
  expect(listTools(many('shop', MAX_LISTED)).listed).toHaveLength(MAX_LISTED);
  const few = toolsOf('mail', { send: 'Sends a mail.', read: 'Reads mails.' });
  const all = listTools([...many('shop', MAX_LISTED - 1), ...few]);
  expect(names(all)).toEqual(['mail__send', 'mail__read', 'find_tool', 'call_tool']);
  expect(all.listed[2]?.description).toContain('39 of shop');
  // What is not listed can be called all the same.
  expect(all.tools.get('shop__op7')?.ref).toBe('shop.op7');
});

test('find_tool finds by what a tool does, by its name, and tells its parameters; ten thousand tools are no matter', async () => {
  const github = toolsOf('github', {
    'issues/create': 'Create an issue. Any user with read access to a repository can create an issue.',
    'issues/list': 'List issues assigned to the authenticated user.',
    'repos/createRelease': 'Create a release. Users with push access can create it.',
  });
  const { tools } = listTools([...many('big', 10_000), ...github, ...many('other', 39)]);
  const find = async (query: string) => (await tools.get('find_tool')?.run({ query }, {} as CallContext))?.text ?? '';
  expect(tools.get('find_tool')).toBeDefined();
  expect(await find('op77')).toMatch(/^big__op77: Number 77 of them\.\nparameters: \{.*"Which one\."/);
  expect(await find('zebra')).toBe('no tool matches: try other words');
  expect((await find('of them')).length).toBeLessThan(30_000);
  const all = listTools([...github, ...toolsOf('github', {})]);
  expect(names(all)).toHaveLength(3);
  const found = listTools([...github, ...many('github', 60)]).tools.get('find_tool');
  const first = async (query: string) => (await found?.run({ query }, {} as CallContext))?.text.split(':')[0];
  expect(await first('create release')).toMatch(/^github__repos_createRelease/);
  expect(await first('open a new issue')).toMatch(/^github__issues_/);
  expect(await first('github.issues/list')).toMatch(/^github__issues_list/);
});

test('call_tool stands for the call that it names; of another form it stays and is told so', () => {
  const call = (args: object) => realCall({ id: 'c1', name: 'call_tool', args: args as never });
  expect(call({ name: 'shop__get', arguments: { id: 1 } })).toEqual({ id: 'c1', name: 'shop__get', args: { id: 1 } });
  expect(call({ name: 'shop__get' }).args).toEqual({});
  for (const args of [{}, { name: 7 }, { name: 'x', arguments: 'y' }, { name: 'x', other: 1 }, { name: 'call_tool' }]) {
    expect(call(args).name).toBe('call_tool');
  }
  const other = { id: 'c2', name: 'Read', args: { path: 'x' } };
  expect(realCall(other)).toBe(other);
});
