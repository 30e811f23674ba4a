import { expect, test } from 'vitest';
import { check } from './tree.js';

const AGENTS = { 'agents/writer.md': '---\ndescription: Writes.\n---\n\nWrite.' };
const codesOf = (text: string) => {
  const { issues } = check({ ...AGENTS, 'flows/f.md': text });
  return issues.map(({ code, severity, line }) => `${severity} ${code} ${line}`);
};
const step = (title: string, ...options: string[]) =>
  `## ${title} @writer\n\n${options.map((option) => `- ${option}\n`).join('')}\n${title}.\n\n`;
const GROUP = (option = '', left = '') =>
  `## Both\n\n${option}\n\n### Left @writer\n\n${left}\n\nL.\n\n### Right @writer\n\nR.\n\n`;

test.each([
  ['a later step', step('A', "when: steps.b.result == 'x'") + step('B'), 3],
  ['its status', step('A', "when: steps.b.status == 'completed'") + step('B'), 3],
  ['a later step, asked for with has', step('A', 'when: has(steps.b.data)') + step('B'), 3],
  ['a later list', step('A', 'each: steps["b"].data') + step('B'), 3],
  ['itself', step('A', "when: steps.a.status == 'pending'"), 3],
  [
    'a later step, after itself',
    step('Z') + step('A', "until: steps.b.result == 'x'", 'back_to: z', 'max_rounds: 2') + step('B'),
    8,
  ],
  ['a branch beside it', GROUP('', "- when: steps.right.result == 'x'"), 7],
  ['the group that it is in', GROUP('', "- when: steps.both.status == 'completed'"), 7],
  ['a branch of its own', GROUP("- when: steps.left.result == 'x'"), 3],
  [
    'a step behind the one that goes back',
    step('A', "when: steps.c.result == 'x'") +
      step('B', "until: self.result == 'y'", 'back_to: a', 'max_rounds: 2') +
      step('C'),
    3,
  ],
])('a condition that reads %s is refused', (_what, text, line) => {
  expect(codesOf(text)).toEqual([`error step/forward-read ${line}`]);
});

test.each([
  ['an earlier step', step('A') + step('B', "when: steps.a.result == 'x'")],
  [
    'its own outcome, when it is done',
    step('Z') + step('A', "until: steps.a.result == 'x'", 'back_to: z', 'max_rounds: 2'),
  ],
  [
    'a step that sends the flow back to it',
    step('A', 'when: !has(steps.b.data) || steps.b.data.n > 1') +
      step('B', "until: self.result == 'y'", 'back_to: a', 'max_rounds: 2'),
  ],
  [
    'a step before the one that sends the flow back',
    step('A', "when: steps.b.status != 'failed'") + step('B') + step('C', 'on_fail: a', 'max_rounds: 2'),
  ],
  [
    'a step that sends the flow back to it by way of another one',
    step('Plan', 'when: !has(steps.check.decision) || steps.check.decision.approved') +
      step('Draft') +
      step('Review', 'approve: human', 'on_reject: plan', 'max_rounds: 3') +
      step('Check', 'approve: human', 'on_reject: draft', 'max_rounds: 3'),
  ],
  ['a branch of a group that came before', GROUP() + step('C', "when: steps.left.result == 'x'")],
])('a condition may read %s', (_what, text) => {
  expect(codesOf(text)).toEqual([]);
});

test('a text that reads a later step is warned of, since it is empty there', () => {
  const text = '## A @writer\n\nUse {{steps.b.result}}.\n\n## B @writer\n\nUse {{steps.a.result}}.';
  expect(codesOf(text)).toEqual(['warning step/forward-read 3']);
});
