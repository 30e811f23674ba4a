import type { SourceFile } from '../../../src/format/index.js';
import { tree } from './tree.js';

/** One fault: the files that have it, and where it is to be reported. */
export interface FaultCase {
  readonly code: string;
  readonly why: string;
  readonly files: readonly SourceFile[];
  readonly at: readonly [path: string, line: number, column: number];
  readonly severity?: 'warning';
}

/** Files of a case by path; lines are joined. */
type Lines = Readonly<Record<string, readonly string[]>>;

export function fault(code: string, why: string, lines: Lines, at: FaultCase['at'], severity?: 'warning'): FaultCase {
  const files = tree(Object.fromEntries(Object.entries(lines).map(([path, text]) => [path, text.join('\n')])));
  return { code, why, files, at, ...(severity ? { severity } : {}) };
}

/** A flow of these lines; its path is made of the case's name. */
function flow(code: string, name: string, lines: readonly string[], at: readonly [number, number]): FaultCase {
  const path = `flows/${name}.md`;
  return fault(code, name.replaceAll('-', ' '), { [path]: lines }, [path, ...at]);
}

const STEP = ['## First @writer', '', 'Write.'];

const yamlFaults: FaultCase[] = [
  flow('yaml/syntax', 'yaml-is-broken', ['---', 'description: "open', '---', ...STEP], [2, 19]),
  flow('yaml/duplicate-key', 'yaml-key-twice', ['---', 'tags: [a]', 'tags: [b]', '---', ...STEP], [3, 1]),
  flow('yaml/duplicate-key', 'option-twice', ['## A @writer', '', '- retry: 2', '- retry: 3'], [4, 3]),
  flow('yaml/alias', 'yaml-anchor', ['---', 'tags: &all [a]', '---', ...STEP], [2, 7]),
  flow('yaml/alias', 'yaml-tag', ['---', 'tags: !!set [a]', '---', ...STEP], [2, 7]),
  flow('yaml/alias', 'yaml-merge-key', ['---', '<<: { tags: [a] }', '---', ...STEP], [2, 1]),
  flow('yaml/alias', 'yaml-map-as-key', ['---', 'description: {{input}}', '---', ...STEP], [2, 15]),
  flow('yaml/unclosed', 'yaml-unclosed', ['---', 'description: a', '', ...STEP], [1, 1]),
];

const fileFaults: FaultCase[] = [
  flow('file/too-large', 'nested-too-deep', [...STEP, '', `${'> '.repeat(60)}deep`], [5, 1]),
  fault('file/too-large', 'more than 256 KiB', { 'knowledge/big.md': ['x'.repeat(256 * 1024 + 1)] }, [
    'knowledge/big.md',
    1,
    1,
  ]),
  fault('file/bad-path', 'a part ..', { 'knowledge/../x.md': [''] }, ['knowledge/../x.md', 1, 1]),
  fault('file/bad-path', 'not NFC', { 'knowledge/cafe\u0301.md': [''] }, ['knowledge/cafe\u0301.md', 1, 1]),
  {
    code: 'file/symlink',
    why: 'git says that it is a link',
    files: [{ path: 'knowledge/link.md', content: new TextEncoder().encode('/etc/passwd'), link: 'symlink' }],
    at: ['knowledge/link.md', 1, 1],
  },
  {
    code: 'file/not-utf8',
    why: 'Latin-1',
    files: [{ path: 'knowledge/latin.md', content: Uint8Array.from([0x63, 0xe9]) }],
    at: ['knowledge/latin.md', 1, 1],
  },
  flow('file/setext-heading', 'setext', [...STEP, '', 'Not a rule', '---'], [5, 1]),
  flow('file/heading-without-space', 'heading-without-space', [...STEP, '', '##Second @writer'], [5, 1]),
  flow('file/late-title', 'late-title', [...STEP, '', '# Title'], [5, 1]),
  flow(
    'file/unclosed-fence',
    'unclosed-fence',
    [...STEP, '', '```js', 'let a;', '', '## Gate', '- approve: human'],
    [5, 1],
  ),
  flow(
    'file/unclosed-comment',
    'unclosed-comment',
    [...STEP, '', '<!-- note', '', '## Gate', '', '- approve: human'],
    [5, 1],
  ),
  flow(
    'file/unclosed-comment',
    'unclosed-comment-in-a-line',
    ['## A @writer', '', 'Say <!-- note', '', 'more -->'],
    [3, 5],
  ),
  flow(
    'file/unclosed-comment',
    'html-that-swallows-a-gate',
    [...STEP, '', '<pre>', '', '## Gate', '', '- approve: human'],
    [7, 1],
  ),
  flow(
    'file/unclosed-comment',
    'html-right-before-a-gate',
    [...STEP, '', '<example>', '## Gate', '- approve: human'],
    [6, 1],
  ),
  fault('file/unclosed-comment', 'in a prompt', { 'agents/open-comment.md': ['Be.', '<!-- x'] }, [
    'agents/open-comment.md',
    2,
    1,
  ]),
  fault('file/unclosed-fence', 'in a prompt', { 'agents/open-fence.md': ['Be.', '', '~~~', 'x'] }, [
    'agents/open-fence.md',
    3,
    1,
  ]),
];

const keyFaults: FaultCase[] = [
  fault('workspace/unknown-key', 'a typo', { 'AGENTS.md': ['---', 'descripton: a', 'budget: much', '---'] }, [
    'AGENTS.md',
    2,
    1,
  ]),
  fault('workspace/bad-value', 'no money', { 'AGENTS.md': ['---', 'descripton: a', 'budget: much', '---'] }, [
    'AGENTS.md',
    3,
    9,
  ]),
  flow('flow/unknown-key', 'flow-unknown-key', ['---', 'triger: manual', '---', ...STEP], [2, 1]),
  flow('flow/bad-value', 'flow-bad-value', ['---', 'trigger: cron', '---', ...STEP], [2, 10]),
  flow(
    'flow/bad-value',
    'flow-bad-filter',
    ['---', 'trigger: webhook', 'signature: hmac', 'signing_secret: S', 'filter: "steps.a"', '---', ...STEP],
    [5, 9],
  ),
  fault('flow/bad-name', 'capital letters', { 'flows/Bad_Name.md': STEP }, ['flows/Bad_Name.md', 1, 1]),
  flow('flow/bad-name', 'flow-other-name', ['---', 'name: another', '---', ...STEP], [2, 7]),
  fault('agent/unknown-key', 'a typo', { 'agents/typo.md': ['---', 'maxTurn: 3', '---'] }, ['agents/typo.md', 2, 1]),
  fault('agent/bad-value', 'no turns', { 'agents/no-turns.md': ['---', 'maxTurns: 0', '---'] }, [
    'agents/no-turns.md',
    2,
    11,
  ]),
  fault('agent/bad-name', 'another name', { 'agents/one.md': ['---', 'name: two', '---'] }, ['agents/one.md', 2, 7]),
  fault(
    'agent/ignored-key',
    'Claude Code’s',
    { 'agents/colored.md': ['---', 'color: red', '---'] },
    ['agents/colored.md', 2, 1],
    'warning',
  ),
  fault('eval/unknown-key', 'a typo', { 'evals/typo.md': ['---', 'target: agents/writer', 'judges: x', '---'] }, [
    'evals/typo.md',
    3,
    1,
  ]),
  fault(
    'eval/unknown-key',
    'no part of a case',
    { 'evals/part.md': ['---', 'target: agents/writer', '---', '## A', '### Inputs', 'x'] },
    ['evals/part.md', 5, 1],
  ),
  fault('eval/bad-value', 'no target', { 'evals/no-target.md': ['---', 'description: a', '---'] }, [
    'evals/no-target.md',
    1,
    1,
  ]),
  fault(
    'eval/bad-value',
    'a decision',
    { 'evals/decide.md': ['---', 'target: agents/writer', '---', '## A', 'x', '### Decisions', '- gate: maybe'] },
    ['evals/decide.md', 7, 3],
  ),
  fault('eval/bad-name', 'another name', { 'evals/one.md': ['---', 'name: two', 'target: agents/writer', '---'] }, [
    'evals/one.md',
    2,
    7,
  ]),
  fault(
    'tool/unknown-key',
    'a typo',
    { 'tools/typo.md': ['---', 'description: a', 'bse: https://a.example', 'base: https://a.example', '---'] },
    ['tools/typo.md', 3, 1],
  ),
  fault('tool/bad-value', 'no program', { 'tools/no-program.md': ['---', 'description: a', '---'] }, [
    'tools/no-program.md',
    1,
    1,
  ]),
  fault('tool/bad-value', 'no such program', { 'tools/gone.md': ['---', 'description: a', 'run: gone.py', '---'] }, [
    'tools/gone.md',
    3,
    6,
  ]),
  fault(
    'tool/bad-value',
    'keys of another kind',
    { 'tools/mixed.md': ['---', 'description: a', 'base: https://a.example', 'run: a.py', '---'] },
    ['tools/mixed.md', 4, 6],
  ),
  fault(
    'tool/bad-name',
    'another name',
    { 'tools/one.md': ['---', 'name: two', 'description: a', 'base: https://a.example', '---'] },
    ['tools/one.md', 2, 7],
  ),
  fault('skill/bad-value', 'no description', { 'skills/bare/SKILL.md': ['---', 'name: bare', '---'] }, [
    'skills/bare/SKILL.md',
    1,
    1,
  ]),
  fault(
    'skill/unknown-key',
    'a typo',
    { 'skills/typo/SKILL.md': ['---', 'description: a', 'licence: b', '---'] },
    ['skills/typo/SKILL.md', 3, 1],
    'warning',
  ),
  fault(
    'skill/bad-name',
    'another name',
    { 'skills/one/SKILL.md': ['---', 'name: two', 'description: a', '---'] },
    ['skills/one/SKILL.md', 2, 7],
    'warning',
  ),
  fault('document/unknown-key', 'a typo', { 'knowledge/typo.md': ['---', 'titel: a', '---'] }, [
    'knowledge/typo.md',
    2,
    1,
  ]),
  fault('document/bad-value', 'a list', { 'memory/list.md': ['---', 'description: [a]', '---'] }, [
    'memory/list.md',
    2,
    14,
  ]),
];

const flowFaults: FaultCase[] = [
  flow('flow/no-steps', 'no-steps', ['---', 'description: a', '---', 'Text alone.'], [3, 4]),
  flow('flow/orphan-branch', 'orphan-branch', ['### A @writer', '', 'x'], [1, 1]),
  flow('flow/bad-cron', 'bad-cron', ['---', 'trigger: schedule', 'cron: every day', '---', ...STEP], [3, 7]),
  flow('flow/bad-cron', 'no-cron', ['---', 'trigger: schedule', '---', ...STEP], [2, 10]),
  flow('flow/bad-timezone', 'bad-timezone', ['---', 'timezone: Mars/Base', '---', ...STEP], [2, 11]),
  {
    ...flow('flow/unsigned-webhook', 'unsigned', ['---', 'trigger: webhook', '---', ...STEP], [2, 10]),
    severity: 'warning',
  },
];

const stepFaults: FaultCase[] = [
  flow('step/no-doer', 'no-doer', ['## Nobody', '', 'x'], [1, 1]),
  flow('step/no-doer', 'stray-agent', ['## Ask @writer for it', '', 'x'], [1, 8]),
  flow('step/two-agents', 'two-agents', ['## Ask @editor or @writer', '', 'x'], [1, 8]),
  flow('step/two-doers', 'two-doers', ['## A @writer', '', '- subflow: pay-refund'], [3, 12]),
  flow('step/two-doers', 'agent-of-a-group', ['## Both @writer', '', '### A @writer', '', '### B @writer'], [1, 9]),
  flow('step/duplicate-id', 'duplicate-id', ['## Same @writer', '', '## Same @writer'], [3, 1]),
  flow('step/bad-id', 'bad-id', ['## A @writer', '', '- id: Not-so'], [3, 7]),
  flow('step/bad-id', 'empty-id', ['## ??? @writer'], [1, 1]),
  flow('step/unknown-option', 'unknown-option', ['## A @writer', '', '- retrys: 2'], [3, 3]),
  flow(
    'step/unknown-option',
    'option-of-a-step',
    ['## G', '', '- retry: 2', '', '### A @writer', '', '### B @writer'],
    [3, 3],
  ),
  flow('step/bad-value', 'bad-value', ['## A @writer', '', '- timeout: soon'], [3, 12]),
  flow('step/bad-value', 'alias-in-an-option', ['## A @writer', '', '- timeout: *soon'], [3, 12]),
  flow('step/bad-value', 'never-approves', ['## A', '', '- approve: human', '- on_timeout: approve'], [4, 15]),
  flow('step/bad-value', 'needs-another', ['## A @writer', '', '- as: order'], [3, 7]),
  flow('step/mixed-list', 'mixed-list', ['## A @writer', '', '- retry: 2', '- greet by name'], [4, 1]),
  flow('step/option-not-one-line', 'option-on-two-lines', ['## A @writer', '', '- retry: 2', 'Write it.'], [3, 1]),
  flow('step/bad-expression', 'bad-expression', ['## A @writer', '', '- when: input.a =='], [3, 17]),
  flow('step/bad-variable', 'bad-variable', ['## A @writer', '', 'Use {{inputs.a}}.'], [3, 5]),
  flow(
    'step/bad-variable',
    'not-in-the-input',
    ['---', 'input:', '  order: string', '---', '## A @writer', '', 'Use {{input.odrer}}.'],
    [7, 5],
  ),
  flow('step/unknown-step', 'unknown-step', ['## A @writer', '', '- when: steps.gone.result == "a"'], [3, 9]),
  flow('step/unknown-step', 'unknown-step-in-text', ['## A @writer', '', 'See {{steps.gone.result}}.'], [3, 5]),
  flow(
    'step/forward-jump',
    'forward-jump',
    ['## A @writer', '', '- on_fail: b', '- max_rounds: 2', '', '## B @writer'],
    [3, 12],
  ),
  flow(
    'step/schema-without-json',
    'schema-without-json',
    ['## A @writer', '', 'x', '', '```yaml schema', 'a: string', '```'],
    [5, 1],
  ),
  flow(
    'step/bad-schema',
    'bad-schema',
    ['## A @writer', '', '- output: json', '', '```yaml schema', 'a: string', 'b: strong', '```'],
    [7, 1],
  ),
  flow(
    'step/loop-without-bound',
    'loop-without-bound',
    ['## A @writer', '', '## B', '', '- approve: human', '- on_reject: a'],
    [6, 14],
  ),
];

const refFaults: FaultCase[] = [
  fault('case/no-input', 'nothing under it', { 'evals/no-input.md': ['---', 'target: agents/writer', '---', '## A'] }, [
    'evals/no-input.md',
    4,
    1,
  ]),
  fault(
    'case/assertion-typo',
    'a near-miss',
    { 'evals/near.md': ['---', 'target: agents/writer', '---', '## A', 'x', '### Expect', '- contain: a'] },
    ['evals/near.md', 7, 3],
    'warning',
  ),
  flow('ref/agent', 'ref-agent', ['## A @nobody'], [1, 6]),
  flow('ref/subflow', 'ref-subflow', ['## A', '', '- subflow: gone'], [3, 12]),
  flow('ref/subflow-cycle', 'cycle', ['## A', '', '- subflow: cycle'], [3, 12]),
  fault('ref/tool', 'no such tool', { 'agents/ref-tool.md': ['---', 'tools: [Read, shopp]', '---'] }, [
    'agents/ref-tool.md',
    2,
    15,
  ]),
  fault('ref/tool', 'in a comma string', { 'agents/ref-comma.md': ['---', 'tools: Read, shopp', '---'] }, [
    'agents/ref-comma.md',
    2,
    14,
  ]),
  flow('ref/tool', 'widened', ['## A @editor', '', '- tools: [shop]'], [3, 11]),
  fault('ref/skill', 'no such skill', { 'agents/ref-skill.md': ['---', 'skills: [plain-word]', '---'] }, [
    'agents/ref-skill.md',
    2,
    10,
  ]),
  flow('ref/document', 'ref-knowledge', ['## A @writer', '', 'See [[knowledge/gone]].'], [3, 5]),
  flow('ref/document', 'ref-heading', ['## A @writer', '', 'See [[knowledge/refund-policy#limts]].'], [3, 5]),
  { ...flow('ref/document', 'ref-memory', ['## A @writer', '', 'See [[memory/gone]].'], [3, 5]), severity: 'warning' },
  fault('ref/document', 'a pin', { 'agents/ref-pin.md': ['---', 'knowledge: [gone]', '---'] }, [
    'agents/ref-pin.md',
    2,
    13,
  ]),
  fault(
    'ref/secret',
    'in no vault',
    { 'agents/ref-secret.md': ['---', 'secrets: [NOWHERE]', '---'] },
    ['agents/ref-secret.md', 2, 11],
    'warning',
  ),
  fault(
    'ref/model',
    'no such model',
    { 'agents/ref-model.md': ['---', 'model: fast', '---'] },
    ['agents/ref-model.md', 2, 8],
    'warning',
  ),
  fault('secret/in-prompt', 'in a prompt', { 'agents/in-prompt.md': ['Use ${SHOP_API_KEY}.'] }, [
    'agents/in-prompt.md',
    1,
    5,
  ]),
  fault('secret/not-granted', 'nobody names it', { 'agents/no-grant.md': ['---', 'tools: [shop]', '---'] }, [
    'agents/no-grant.md',
    2,
    9,
  ]),
  fault(
    'secret/literal',
    'in the open',
    {
      'tools/open.md': [
        '---',
        'description: a',
        'base: https://a.example',
        'headers: { Authorization: Bearer abcdefgh }',
        '---',
      ],
    },
    ['tools/open.md', 4, 10],
    'warning',
  ),
];

const treeFaults: FaultCase[] = [
  fault('tree/two-spellings', 'flat and folder', { 'agents/twice.md': ['a'], 'agents/twice/agent.md': ['b'] }, [
    'agents/twice/agent.md',
    1,
    1,
  ]),
  fault('tree/case-twin', 'case only', { 'knowledge/a.md': ['a'], 'knowledge/A.md': ['b'] }, ['knowledge/a.md', 1, 1]),
  fault('tree/protected-path', 'the service’s own', { 'state/a.md': ['a'] }, ['state/a.md', 1, 1]),
  fault('tree/unknown-path', 'nothing reads it', { 'notes.md': ['a'] }, ['notes.md', 1, 1], 'warning'),
];

/** Every code of the format, but for `tree/too-large`, which ends the check. */
export const FAULTS: readonly FaultCase[] = [
  ...yamlFaults,
  ...fileFaults,
  ...keyFaults,
  ...flowFaults,
  ...stepFaults,
  ...refFaults,
  ...treeFaults,
];
