import { describe, expect, test } from 'vitest';
import { check, kettleAndLeaf } from './tree.js';

const EXAMPLE = kettleAndLeaf();

/** Every key of a file's frontmatter, and every option under a heading: where it stands, from line 0. */
function keysOf(path: string, text: string): { readonly path: string; readonly line: number; readonly key: string }[] {
  const lines = text.split('\n');
  const ends = lines[0] === '---' ? lines.indexOf('---', 1) : 0;
  return lines.flatMap((written, line) => {
    const pattern = line < ends ? /^([a-z][A-Za-z_]*):/ : /^- ([a-z][a-z_]*): /;
    const key = pattern.exec(written)?.[1];
    if (key === undefined || (line >= ends && !/^(flows|evals)\//.test(path))) return [];
    // What steps of an eval's case decide stands in bullets too, and names no key.
    return line > ends && path.startsWith('evals/') && !lines[line - 2]?.startsWith('## ') ? [] : [{ path, line, key }];
  });
}

/** Two letters in the middle change places, or one is doubled where they are the same. */
function misspell(key: string): string {
  const at = Math.max(0, Math.floor(key.length / 2) - 1);
  const [a = '', b = ''] = [key[at], key[at + 1]];
  const swapped = a === b ? a + a + b : b + a;
  return key.length < 3 ? `${key}${key.at(-1)}` : key.slice(0, at) + swapped + key.slice(at + 2);
}

const PLACES = Object.entries(EXAMPLE)
  .filter(([path]) => path.endsWith('.md') && !path.endsWith('SKILL.md'))
  .flatMap(([path, text]) => keysOf(path, text));

test('the example has a key of each kind to misspell', () => {
  const kinds = new Set(PLACES.map(({ path }) => path.split('/')[0]));
  expect([...kinds]).toEqual(expect.arrayContaining(['AGENTS.md', 'agents', 'evals', 'flows', 'tools']));
  expect(PLACES.length).toBeGreaterThan(100);
});

/** Of each file the nth place, so that one check of the whole tree asks about all of them. */
const ROUNDS = PLACES.reduce<(typeof PLACES)[]>((rounds, place) => {
  const round = rounds.find((others) => others.every(({ path }) => path !== place.path));
  if (round) round.push(place);
  else rounds.push([place]);
  return rounds;
}, []);

test('any key of the example, misspelt, is one fault at its line that names what was meant', () => {
  const context = { models: { aliases: [], providers: ['openai'], any: false } };
  const before = new Set(check(EXAMPLE, context).issues.map((issue) => JSON.stringify(issue)));
  for (const round of ROUNDS) {
    const files = { ...EXAMPLE };
    for (const { path, line, key } of round) {
      const lines = (EXAMPLE[path] ?? '').split('\n');
      lines[line] = (lines[line] ?? '').replace(key, misspell(key));
      files[path] = lines.join('\n');
    }
    const fresh = check(files, context).issues.filter((issue) => !before.has(JSON.stringify(issue)));
    const inOrder = [...round].sort((a, b) => (a.path < b.path ? -1 : 1));
    expect(fresh).toMatchObject(
      inOrder.map(({ path, line, key }) => ({
        path,
        line: line + 1,
        code: expect.stringMatching(/unknown-(key|option)$/),
        hint: expect.stringContaining(`\`${key}\``),
      })),
    );
  }
});

const AGENT = { 'agents/writer.md': '---\ndescription: Writes.\n---\n\nWrite.' };
const FIRST = '## First @writer\n\nOne.\n\n';

describe('a misspelt key makes no second fault', () => {
  test.each([
    ['a gate', `${FIRST}## Sign\n\n- aprove: human\n- need: 2\n- on_reject: first\n- max_rounds: 2\n\nRight?`],
    ['a wait', `${FIRST}## Ask\n\n- wiat: event\n- on_timeout: continue\n\nAt {{step.release_url}}.`],
    ['a subflow', `${FIRST}## Call\n\n- sublow: it\n- with: { a: 1 }`],
    ['a bound', `${FIRST}## Check @writer\n\n- until: "true"\n- back_to: first\n- max_ronds: 2\n\nCheck.`],
    ['a loop', `${FIRST}## Check @writer\n\n- untill: "true"\n- back_to: first\n- max_rounds: 2\n\nCheck.`],
    ['a schema', `${FIRST}## Score @writer\n\n- ouput: json\n\nScore.\n\n\`\`\`yaml schema\nn: integer\n\`\`\``],
    [
      'an id',
      `## First @writer\n\n- idd: one\n\nOne.\n\n## Then @writer\n\n- when: steps.one.result == 'x'\n\nUse {{steps.one.result}}.`,
    ],
    ['a name of items', `## All @writer\n\n- each: input.names\n- ass: guest\n\nGreet {{guest}}.`],
    ['a list of items', `## All @writer\n\n- eahc: input.names\n- parallel: 2\n\nGreet {{item}}.`],
  ])('%s', (_what, text) => {
    const { issues } = check({ ...AGENT, 'flows/it.md': text });
    expect(issues).toMatchObject([{ code: 'step/unknown-option', hint: expect.stringContaining('Did you mean') }]);
  });

  test.each([
    ['a trigger', { 'flows/it.md': `---\ntriger: schedule\ncron: "0 8 * * *"\n---\n\n${FIRST}` }],
    ['what a trigger needs', { 'flows/it.md': `---\ntrigger: schedule\ncorn: "0 8 * * *"\n---\n\n${FIRST}` }],
    [
      'what makes a tool http',
      { 'tools/shop.md': '---\ndescription: Shop.\nbsae: https://a.example\nmethods: [GET]\n---\n' },
    ],
    ['the program of a script', { 'tools/add.md': '---\ndescription: Adds.\nrnu: add.py\n---\n' }],
    [
      'what an agent is granted',
      {
        'tools/add.md': '---\ndescription: Adds.\n---\n\n```sh\necho 1\n```\n',
        'agents/adder.md': '---\ndescription: Adds.\ntoools: [add]\napprove: [add]\n---\n\nAdd.',
        'flows/it.md': '## Add @adder\n\n- tools: [add]\n\nAdd.',
      },
    ],
    [
      'a part of a map',
      { 'flows/it.md': `${FIRST}## Sign\n\n- approve: human\n- escalate: { aftr: 1d, to: owner }\n\nRight?` },
    ],
    [
      'the input of a case',
      { 'flows/it.md': FIRST, 'evals/e.md': '---\ntarget: flows/it\n---\n\n## A\n\n### Inptu\n\nx\n' },
    ],
    ['the servers', { '.mcp.json': '{ "mcpServer": { "a": { "url": "https://a.example" } } }' }],
    ['the address of a server', { '.mcp.json': '{ "mcpServers": { "a": { "ulr": "https://a.example" } } }' }],
  ])('%s', (_what, files: Readonly<Record<string, string>>) => {
    const { issues } = check({ ...AGENT, ...files });
    expect(issues.filter(({ severity }) => severity === 'error')).toHaveLength(1);
    expect(issues[0]?.hint).toContain('Did you mean');
  });
});
