import { type FaultCase, fault } from './faults.js';

const STEP = ['## First @writer', '', 'Write.'];
const EVAL = ['---', 'target: agents/writer', '---', ''];

/** A flow of a first step and these lines, which begin on line 5. */
function flow(why: string, lines: readonly string[], at: readonly [number, number], severity?: 'warning'): FaultCase {
  const path = `flows/${why.replace(/[^a-z]+/g, '-')}.md`;
  return fault('step/option-ignored', why, { [path]: [...STEP, '', ...lines] }, [path, ...at], severity);
}

const options: FaultCase[] = [
  flow('a gate without its colon', ['## Sign @writer', '', '- approve human'], [7, 3]),
  flow('a gate below the text', ['## Sign @writer', '', 'Sign it.', '', '- approve: human'], [9, 3]),
  flow('a gate in a heading', ['## Sign (approve: human) @writer', '', 'Sign it.'], [5, 1]),
  flow('a condition with a capital', ['## Sign @writer', '', "- When: steps.first.result == 'x'"], [7, 3]),
  flow('a condition of another language', ['## Sign @writer', '', "- When: steps.first.result === 'x'"], [7, 3]),
  flow(
    'an option of a group',
    ['## Both', '', '- join any', '', '### Left @writer', '', 'A.', '', '### Right @writer', '', 'B.'],
    [7, 3],
  ),
  flow(
    'a form of another name',
    ['## Sign', '', '- approve: human', '', '```yaml-form', 'amount: number', '```'],
    [9, 1],
  ),
  flow(
    'a schema in a list',
    ['## Score @writer', '', 'Score.', '', '- so:', '', '  ```yaml schema', '  n: integer', '  ```'],
    [11, 3],
  ),
  flow('a name', ['## Sign @writer', '', 'Sign it.', '', '- id: sign'], [9, 3], 'warning'),
  fault(
    'step/option-ignored',
    'a limit of a case',
    { 'evals/ignored-1.md': [...EVAL, '## A', '', '1. timeout: 5m', '', 'Do it.'] },
    ['evals/ignored-1.md', 7, 4],
  ),
];

const keys: FaultCase[] = [
  fault(
    'flow/key-ignored',
    'a limit in the brief',
    { 'flows/brief.md': ['# Brief', '', '- budget: 0.50', '', ...STEP] },
    ['flows/brief.md', 3, 1],
  ),
  fault(
    'flow/key-ignored',
    'frontmatter as a code block',
    { 'flows/code.md': ['```yaml', 'budget: 0.50', 'name: code', '```', '', ...STEP] },
    ['flows/code.md', 1, 1],
  ),
  fault(
    'eval/key-ignored',
    'a limit before the cases',
    { 'evals/ignored-2.md': [...EVAL, 'budget: 0.50', '', '## A', '', 'Do it.'] },
    ['evals/ignored-2.md', 5, 1],
  ),
  fault(
    'agent/key-ignored',
    'frontmatter behind a blank line',
    { 'agents/late.md': ['', '---', 'approve: [Bash]', '---', '', 'Work.'] },
    ['agents/late.md', 2, 1],
  ),
  fault(
    'agent/key-ignored',
    'keys behind the frontmatter',
    { 'agents/behind.md': ['---', 'description: a', '---', 'budget: 0.50', 'maxTurns: 3', '', 'Work.'] },
    ['agents/behind.md', 4, 1],
  ),
  fault(
    'agent/key-ignored',
    'no key with a risk',
    { 'agents/plain.md': ['', '---', 'description: a', '---', '', 'Work.'] },
    ['agents/plain.md', 2, 1],
    'warning',
  ),
  fault(
    'workspace/key-ignored',
    'keys behind the frontmatter',
    { 'AGENTS.md': ['---', 'descripton: a', 'budget: much', '---', '', 'timezone: UTC', 'budget: 20'] },
    ['AGENTS.md', 6, 1],
  ),
  fault(
    'tool/key-ignored',
    'methods behind the frontmatter',
    { 'tools/late.md': ['---', 'description: a', 'base: https://a.example', '---', '', 'methods: [POST]'] },
    ['tools/late.md', 6, 1],
  ),
  fault(
    'document/key-ignored',
    'frontmatter of a document',
    { 'knowledge/late.md': ['', '---', 'title: A', '---', '', 'Text.'] },
    ['knowledge/late.md', 2, 1],
    'warning',
  ),
];

const headings: FaultCase[] = [
  fault(
    'file/heading-without-space',
    'a blank that does not break',
    { 'flows/nbsp.md': [...STEP, '', '##\u00a0Sign'] },
    ['flows/nbsp.md', 5, 1],
  ),
  fault(
    'file/heading-without-space',
    'an invisible character before it',
    { 'flows/zero.md': [...STEP, '', '\u200b## Sign'] },
    ['flows/zero.md', 5, 2],
  ),
  fault('file/heading-without-space', 'wide signs', { 'flows/wide.md': [...STEP, '', '＃＃ Sign'] }, [
    'flows/wide.md',
    5,
    1,
  ]),
  fault('file/heading-without-space', 'four blanks below a text', { 'flows/four.md': [...STEP, '    ## Sign'] }, [
    'flows/four.md',
    4,
    5,
  ]),
  fault(
    'file/heading-ignored',
    'a step too deep',
    { 'flows/deep.md': [...STEP, '', '#### Then @writer'] },
    ['flows/deep.md', 5, 1],
    'warning',
  ),
  fault(
    'file/heading-ignored',
    'a step in a quote',
    { 'flows/quote.md': [...STEP, '', '> ## Then @writer'] },
    ['flows/quote.md', 5, 3],
    'warning',
  ),
  fault(
    'file/heading-ignored',
    'a step in code',
    { 'flows/indent.md': [...STEP, '', '    ## Then @writer'] },
    ['flows/indent.md', 5, 1],
    'warning',
  ),
  fault(
    'file/heading-ignored',
    'a step in bold',
    { 'flows/bold.md': [...STEP, '', '**Then @writer**'] },
    ['flows/bold.md', 5, 1],
    'warning',
  ),
  fault(
    'file/heading-ignored',
    'a part too deep',
    { 'evals/ignored-3.md': [...EVAL, '## A', '', 'Do it.', '', '#### Expect', '', '- contains: x'] },
    ['evals/ignored-3.md', 9, 1],
    'warning',
  ),
  fault(
    'file/heading-ignored',
    'a part in bold',
    { 'evals/ignored-4.md': [...EVAL, '## A', '', 'Do it.', '', '**Expect:**', '', '- contains: x'] },
    ['evals/ignored-4.md', 9, 1],
    'warning',
  ),
];

const tools: FaultCase[] = [
  fault(
    'secret/plain-http',
    'a header of a tool',
    {
      'tools/plain.md': ['---', 'description: a', 'base: http://a.example', 'headers: { X: "${SHOP_API_KEY}" }', '---'],
    },
    ['tools/plain.md', 3, 7],
  ),
  fault(
    'secret/plain-http',
    'an MCP server of an agent',
    {
      'agents/plain-server.md': [
        '---',
        'description: a',
        'secrets: [SHOP_API_KEY]',
        'mcpServers:',
        '  crm: { url: "http://a.example", headers: { X: "${SHOP_API_KEY}" } }',
        '---',
        'Be.',
      ],
    },
    ['agents/plain-server.md', 5, 8],
  ),
  fault(
    'tool/bad-value',
    'a program without a language',
    { 'tools/mute.md': ['---', 'description: a', '---', '', '```', 'echo 1', '```'] },
    ['tools/mute.md', 1, 1],
  ),
  fault(
    'tool/bad-value',
    'a program of a language that cannot run',
    { 'tools/ruby.md': ['---', 'description: a', '---', '', '```ruby', 'puts 1', '```'] },
    ['tools/ruby.md', 1, 1],
  ),
  fault(
    'tool/bad-value',
    'a file that cannot run',
    { 'tools/perl/tool.md': ['---', 'description: a', 'run: a.pl', '---'], 'tools/perl/a.pl': ['print 1'] },
    ['tools/perl/tool.md', 3, 6],
  ),
];

const reads: FaultCase[] = [
  fault(
    'step/forward-read',
    'a condition before what it reads',
    {
      'flows/early.md': ['## A @writer', '', "- when: steps.b.result == 'x'", '', 'A.', '', '## B @writer', '', 'B.'],
    },
    ['flows/early.md', 3, 9],
  ),
  fault(
    'step/forward-read',
    'a text before what it reads',
    { 'flows/early-text.md': ['## A @writer', '', 'A {{steps.b.result}}.', '', '## B @writer', '', 'B.'] },
    ['flows/early-text.md', 3, 3],
    'warning',
  ),
];

export const IGNORED_FAULTS: readonly FaultCase[] = [...tools, ...reads, ...options, ...keys, ...headings];
