import { describe, expect, test } from 'vitest';
import type { GroupPlan, Piece, PlanNode, StepPlan } from '../../../src/format/index.js';
import { check } from './tree.js';

const AGENTS = { 'agents/writer.md': 'Be.', 'agents/editor.md': 'Be.', 'knowledge/doc.md': '# Doc\n\n## Part one\n' };

function nodes(text: string): readonly PlanNode[] {
  const { issues, workspace } = check({ ...AGENTS, 'flows/f.md': text });
  expect(issues.filter(({ severity }) => severity === 'error')).toEqual([]);
  return workspace?.plans['flows/f']?.nodes ?? [];
}

function step(text: string): StepPlan {
  return nodes(text)[0] as StepPlan;
}

function codes(text: string): string[] {
  return check({ ...AGENTS, 'flows/f.md': text }).issues.map(({ code }) => code);
}

/** The text as a reader sees it: values and links in their marks. */
function shown(pieces: readonly Piece[]): string {
  const show = {
    value: (p: Piece) => `{{${'path' in p ? p.path : ''}}}`,
    link: (p: Piece) => `[[${'target' in p ? p.target : ''}]]`,
  };
  return pieces.map((piece) => (piece.kind === 'text' ? piece.text : show[piece.kind](piece))).join('');
}

describe('headings', () => {
  test.each([
    ['## Draft @writer', 'Draft', 'writer'],
    ['## @writer', 'writer', 'writer'],
    ['## Mail bob@example.com @writer', 'Mail bob@example.com', 'writer'],
    ['## Ask \\@bob @writer', 'Ask @bob', 'writer'],
    ['## Ask `@bob` @writer', 'Ask @bob', 'writer'],
    ['## Draft <!-- for Ann --> @writer', 'Draft', 'writer'],
    ['## Draft @writer <!-- for Ann -->', 'Draft', 'writer'],
    ['## **Bold** and *thin* @writer', 'Bold and thin', 'writer'],
    ['## 1. First @writer', '1. First', 'writer'],
    ['## Closed @writer ##', 'Closed', 'writer'],
    ['## Use {{input}} and [[x]] @writer', 'Use {{input}} and [[x]]', 'writer'],
  ])('%s', (heading, title, agent) => {
    expect(step(`${heading}\n\nx`)).toMatchObject({ title, agent });
  });

  test('an option that there is none of is refused by its name, whatever its value', () => {
    for (const line of ['gate:', 'if: {{nope']) {
      expect(codes(`## A @writer\n\n- ${line}\n\nx`)).toEqual(['step/unknown-option']);
    }
  });

  test('an agent in code is no agent', () => {
    expect(codes('## Ask `@writer`\n\nx')).toEqual(['step/no-doer']);
  });

  test.each([
    ['## Über: 2 Äpfel! @writer', 'ueber_2_aepfel'],
    ['## 2nd round @writer', 'step_2nd_round'],
    ['## A\n\n- id: own_1\n- wait: 1h', 'own_1'],
  ])('%s has the id %s', (text, id) => {
    expect(step(text).id).toBe(id);
  });

  test.each(['in', 'true', 'false', 'null'])('%s is no id', (word) => {
    expect(codes(`## ${word} @writer`)).toEqual(['step/bad-id']);
  });

  test('deeper headings, and headings in quotes, lists and code, are text', () => {
    const text = '## A @writer\n\n#### Deep\n\n> ## Quoted\n\n- x\n\n  ## Listed\n\n```\n## Code\n```';
    const [only, ...more] = nodes(text);
    expect(more).toEqual([]);
    expect(shown((only as StepPlan).instruction)).toBe(text.slice('## A @writer\n\n'.length));
  });
});

describe('groups', () => {
  const TEXT =
    '## First @writer\n\n## Both\n\n- when: input.a == 1\n- join: any\n\nTogether.\n\n### A @writer\n\na\n\n### B @editor\n\nb\n\n## Last @writer';

  test('a ## with ### under it is a group without a number; its text goes before each branch', () => {
    const group = nodes(TEXT)[1] as GroupPlan;
    expect(group).toMatchObject({ kind: 'group', id: 'both', join: 'any', when: 'input.a == 1' });
    expect(shown(group.preface)).toBe('Together.');
    expect(group.branches.map(({ n, id, agent }) => [n, id, agent])).toEqual([
      [2, 'a', 'writer'],
      [3, 'b', 'editor'],
    ]);
    expect((nodes(TEXT)[2] as StepPlan).n).toBe(4);
  });

  test('a schema on a group is for nobody', () => {
    expect(codes('## G\n\n```yaml schema\na: string\n```\n\n### A @writer\n\n### B @writer')).toEqual([
      'step/two-doers',
    ]);
  });

  test('a group has an id like a step, and it is not shared with one', () => {
    expect(codes('## A\n\n### A @writer\n\n### B @writer')).toContain('step/duplicate-id');
  });
});

describe('options', () => {
  test('comments and blank lines before the list are skipped', () => {
    expect(step('## A @writer\n\n<!-- why -->\n\n- retry: 2\n\nx').retry?.max).toBe(2);
  });

  test.each([
    ['no item looks like an option', '- greet\n- Say: who\n- end'],
    ['it is ordered', '1. retry: until it works\n2. x'],
    ['a sentence stands before it', 'Say:\n\n- note: 2'],
    ['the key is not lower case', '- Retry: until it works'],
    ['no blank follows the colon', '- http://a.example'],
  ])('a list is instruction when %s', (_why, list) => {
    expect(shown(step(`## A @writer\n\n${list}`).instruction)).toBe(list);
  });

  test('the other bullet mark begins a list of instruction', () => {
    const read = step('## A @writer\n\n- retry: 2\n\n* greet\n* note: end');
    expect([read.retry?.max, shown(read.instruction)]).toEqual([2, '* greet\n* note: end']);
  });

  test('a blank line does not end the list of options', () => {
    expect(codes('## A @writer\n\n- retry: 2\n\n- greet')).toEqual(['step/mixed-list']);
  });

  test('an expression is the rest of the line, byte for byte', () => {
    const source = `steps.a.result != '#' && input.x["k: v"] == "<!-- -->"`;
    expect((nodes(`## A @writer\n\n## B @writer\n\n- when: ${source}\n\nx`)[1] as StepPlan).when).toBe(source);
  });

  test('an option that a formatter wrapped is one line; text without an indent is no part of it', () => {
    expect(step('## A\n\n- approve:\n    [a@b.example,\n  c@d.example]').gate?.approvers).toEqual([
      'a@b.example',
      'c@d.example',
    ]);
    expect(codes('## A @writer\n\n- retry: 2\nWrite.')).toEqual(['step/option-not-one-line']);
    expect(codes('## A @writer\n\n- retry: 2\n\n  Write.')).toEqual(['step/option-not-one-line']);
    expect(codes('## A @writer\n\n- retry: 2\n  - nested')).toEqual(['step/option-not-one-line']);
  });

  test('durations, money and retries are read to numbers', () => {
    const text = '- budget: $1.50\n- timeout: 90s\n- retry: { max: 3, wait: 30s, backoff: 2, on: [tool] }';
    expect(step(`## A @writer\n\n${text}\n\nx`)).toMatchObject({
      budgetUsd: 1.5,
      timeoutMs: 90_000,
      retry: { max: 3, waitMs: 30_000, backoff: 2, on: ['tool'] },
    });
  });

  test.each(['999999999w', '999999999d'])('%s is a century, which every clock can hold', (text) => {
    const CENTURY = 36_525 * 86_400_000;
    expect(step(`## A @writer\n\n- timeout: ${text}\n\nx`)).toMatchObject({ timeoutMs: CENTURY });
    expect(step(`## A\n\n- approve: human\n- timeout: ${text}\n\nx`)).toMatchObject({ gate: { timeoutMs: CENTURY } });
  });

  test('a timeout beside a gate or a wait is that of the park', () => {
    const [gate, wait] = nodes(
      '## A\n\n- approve: human\n- timeout: 2d\n\n## B @writer\n\n- wait: event\n- timeout: 3d',
    ) as StepPlan[];
    expect([gate?.timeoutMs, gate?.gate?.timeoutMs, gate?.gate?.onTimeout]).toEqual([undefined, 172_800_000, 'reject']);
    expect([wait?.timeoutMs, wait?.wait]).toEqual([
      undefined,
      { kind: 'event', timeoutMs: 259_200_000, onTimeout: 'fail' },
    ]);
  });

  test.each(['approve: human', 'wait: event', 'until: true'])('each does not go together with %s', (option) => {
    const list = `- each: input.list\n- ${option}\n- back_to: z\n- max_rounds: 1`;
    expect(codes(`## Z @writer\n\n## A @writer\n\n${list}`)).toContain('step/bad-value');
  });

  test('need: all needs a list of addresses', () => {
    expect(codes('## A\n\n- approve: [owner, a@b.example]\n- need: all')).toEqual(['step/bad-value']);
    expect(codes('## A\n\n- approve: [c@b.example, a@b.example]\n- need: all')).toEqual([]);
  });
});

describe('jumps', () => {
  const back = (target: string) => `- on_fail: ${target}\n- max_rounds: 2`;

  test('a step goes back to an earlier step or a group, never into one', () => {
    const flow = (target: string) =>
      `## A @writer\n\n## G\n\n### B @writer\n\n### C @writer\n\n## D @writer\n\n${back(target)}`;
    expect(['a', 'g', 'b', 'd'].map((target) => codes(flow(target)))).toEqual([
      [],
      [],
      ['step/forward-jump'],
      ['step/forward-jump'],
    ]);
  });

  test('a branch goes back to itself only', () => {
    const flow = (target: string) => `## A @writer\n\n## G\n\n### B @writer\n\n${back(target)}\n\n### C @writer`;
    expect(['a', 'b', 'c'].map((target) => codes(flow(target)))).toEqual([
      ['step/forward-jump'],
      [],
      ['step/forward-jump'],
    ]);
  });
});

describe('text', () => {
  test('values are read in code, links are not', () => {
    const { instruction } = step(
      '## A @writer\n\n`{{input.a}} [[knowledge/doc]]` and [[knowledge/doc#part-one|it]] \\{{x}}',
    );
    expect(instruction).toEqual([
      { kind: 'text', text: '`' },
      { kind: 'value', path: 'input.a' },
      { kind: 'text', text: ' [[knowledge/doc]]` and ' },
      { kind: 'link', target: 'knowledge/doc', heading: 'part-one', label: 'it' },
      { kind: 'text', text: ' {{x}}' },
    ]);
  });

  test('comments, options and schemas never reach a model', () => {
    const text =
      '## A @writer\n\n- output: json\n\nBefore <!-- no --> it.\n\n```yaml schema\na: string\n```\n\nAfter.\n\n<!-- no -->';
    const read = step(text);
    expect(shown(read.instruction)).toBe('Before  it.\n\nAfter.');
    expect(read.schema).toMatchObject({ type: 'object', required: ['a'] });
  });

  test('a step in a comment is no step', () => {
    expect(nodes('## A @writer\n\nx\n\n<!--\n## B @nobody\n-->')).toHaveLength(1);
  });

  test('the brief is the text before the first step, without the title', () => {
    const { workspace } = check({
      ...AGENTS,
      'flows/f.md': '---\ntags: [a]\n---\n\n# Title\n\nBrief {{input.a}}.\n\n## A @writer',
    });
    expect(shown(workspace?.plans['flows/f']?.brief ?? [])).toBe('Brief {{input.a}}.');
  });

  test('the release address exists only where an event is awaited', () => {
    expect(codes('## A @writer\n\n- wait: event\n\n{{step.release_url}}')).toEqual([]);
    expect(codes('## A @writer\n\n{{step.release_url}}')).toEqual(['step/bad-variable']);
  });

  test('an item has the name that as gives it', () => {
    expect(codes('## A @writer\n\n- each: input.list\n- as: order\n\n{{order.id}}')).toEqual([]);
    expect(codes('## A @writer\n\n- each: input.list\n\n{{order.id}}')).toEqual(['step/bad-variable']);
  });
});

describe('triggers', () => {
  const issues = (...keys: readonly string[]) =>
    check({ ...AGENTS, 'flows/f.md': `---\n${keys.join('\n')}\n---\n\n## A @writer\n\nx` }).issues;

  test.each([
    ['acme.com', 'Write `@acme.com` for everyone at that domain.'],
    ['*@acme.com', 'Write `@acme.com` for everyone at that domain.'],
    ['@*.acme.com', 'Write `@acme.com` for everyone at that domain.'],
    ['Ada <ada@acme.com>', 'Write `ada@acme.com`.'],
    ['nope', 'Write a whole address, `ada@acme.com`, or `@acme.com` for everyone at that domain.'],
    ['@', 'Write a whole address, `ada@acme.com`, or `@acme.com` for everyone at that domain.'],
  ])('from: %s is a warning that says what to write', (from, hint) => {
    const message = `\`from\`: no mail is from \`"${from}"\`.`;
    expect(issues('trigger: email', `from: ["${from}", ada@acme.com]`)).toMatchObject([
      { code: 'flow/unlikely-value', severity: 'warning', message, hint },
    ]);
  });

  test.each([
    ['from', 'trigger: email\nfrom: [Ada@Acme.com, "@acme.com", "@localhost", " a.b+c@acme.com "]'],
    ['a comparison', 'trigger: email\nfilter: "input.a == 1 || input.b"'],
    ['a call', 'trigger: email\nfilter: "input.subject.matches(\'a\')"'],
    ['a choice', 'trigger: email\nfilter: "input.a ? 1 : input.b > 2"'],
    ['whether all or one do', 'trigger: email\nfilter: "input.a.all(b, b > 1) && input.a.exists_one(b, b > 2)"'],
    ['a week', 'trigger: event\nevent: push\ndedupe: body.ref\ndebounce: 7d'],
    ['two triggers', 'trigger: [schedule, email]\ncron: 0 8 * * *\nfrom: "@acme.com"\noverlap: skip'],
  ])('what may start something has no warning: %s', (_name, keys) => {
    expect(issues(keys)).toEqual([]);
  });

  test('a header and a secret that belong together have no warning', () => {
    const keys = ['trigger: webhook', 'signature: hmac', 'signing_secret: S', 'signature_header: X-Acme_Signature'];
    expect(issues(...keys)).toEqual([]);
  });

  test('a key of another trigger says which trigger it is for', () => {
    expect(issues('trigger: manual', 'cron: 0 8 * * *')).toMatchObject([
      {
        severity: 'warning',
        message: '`cron` has no effect without `trigger: schedule`.',
        hint: 'Add `schedule` to `trigger`, or take `cron` out.',
      },
    ]);
  });

  test('a trigger that is no trigger is one fault, and its keys are none', () => {
    expect(issues('trigger: emial', 'from: "@acme.com"').map(({ code }) => code)).toEqual(['flow/bad-value']);
  });
});
