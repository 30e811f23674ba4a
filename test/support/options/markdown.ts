import { OPTION_VOCABULARY, VOCABULARY, type VocabularyKey } from '../../../src/format/index.js';
import { ROWS } from './index.js';
import type { Family, OptionCase, OptionRow } from './row.js';

const keysOf = (kind: string) => VOCABULARY.find((entry) => entry.kind === kind)?.keys ?? [];

/** Where the reader looks a family's keys up: the docs' line of each is the vocabulary's own. */
export const KEYS_OF: Readonly<Record<Family, readonly VocabularyKey[]>> = {
  step: OPTION_VOCABULARY.step,
  gate: OPTION_VOCABULARY.step,
  group: OPTION_VOCABULARY.group,
  flow: keysOf('flow'),
  agent: keysOf('agent'),
};

const SECTIONS: Readonly<Record<Family, { readonly title: string; readonly intro: string }>> = {
  step: {
    title: 'A step',
    intro: 'A `##` heading is a step; the last word of the heading names its agent. Its options are right under it.',
  },
  gate: {
    title: 'A gate',
    intro:
      'A step with `approve` waits for people after its work is done. `timeout`, `max_rounds` and `on_fail` of a step apply to it too.',
  },
  group: {
    title: 'A group',
    intro: '`###` headings under a `##` run in parallel, and the `##` is their group. It has these options only.',
  },
  flow: {
    title: 'A flow',
    intro: 'Keys of a flow’s frontmatter that act on its runs.',
  },
  agent: {
    title: 'An agent',
    intro: 'Keys of the frontmatter of `agents/<name>.md` that act on the steps it does.',
  },
};

const HEAD = `# Step options

A flow is a file \`flows/<name>.md\`. Its frontmatter describes it, each \`##\` heading is a step, and a bullet list right under a heading holds the step's options, one per line:

\`\`\`\`markdown
---
description: Answers a customer
budget: 0.50
---

## Draft the answer @writer

- retry: 2
- timeout: 5m

Answer {{input}} in three sentences.

## Agree to it

- approve: human
\`\`\`\`

- **Order inside a step:** \`when\`, then its agent or subflow works, then \`wait\` or \`approve\`, then \`until\`, then the next step.
- **In the text,** \`{{path}}\` is data (\`{{input}}\`, \`{{steps.draft_the_answer.result}}\`) and \`[[path]]\` a document. A step's id is its title, folded.
- **Conditions** are CEL over \`input\`, \`steps.<id>.{result,data,event,decision,status}\`, \`trigger\` and \`run\`. Of a step with \`each\`, \`steps.<id>.items[i]\` has the \`status\` of each item and, of one that failed, its \`error\`; \`data[i]\` is null there.
- **An invalid option** is refused at deploy, with its code, path, line and column. An unknown option is \`step/unknown-option\`, an unknown key \`flow/unknown-key\` or \`agent/unknown-key\`, with the name that was probably meant.

The tests generate this page. They run each example undisturbed, and again with its worker killed (\`kill -9\`) while the run is in the option; many a third time, killed right after a write. A start of the disabled flow is refused.
`;

/** docs/format/step-options.md: the tables of all families with their examples. */
export function optionsPage(): string {
  const families = Object.keys(SECTIONS) as Family[];
  return `${[HEAD, ...families.map(section)].join('\n').trimEnd()}\n`;
}

function section(family: Family): string {
  const { title, intro } = SECTIONS[family];
  const rows = ROWS.filter(({ of }) => of === family);
  const lines = rows.map((row) => `| ${cells(row).map(escaped).join(' | ')} |`);
  const table = ['| Option | What it does | Values | Default | Refused with |', '|---|---|---|---|---|', ...lines];
  return [`## ${title}\n`, `${intro}\n`, ...table, '', ...rows.map(example)].join('\n');
}

function cells({ of, key, values, byDefault, more, refused }: OptionRow): string[] {
  const does = KEYS_OF[of].find((entry) => entry.key === key)?.description ?? '';
  const codes = [...new Set(refused.map(({ code }) => code))].toSorted();
  const text = more === undefined ? does : `${does} ${more}`;
  return [`\`${key}\``, text, values, byDefault, codes.map((code) => `\`${code}\``).join(' ')];
}

const escaped = (cell: string) => cell.replaceAll('|', '\\|');

function example({ of, key, cases }: OptionRow): string {
  const [first] = Object.values(cases);
  if (!first) throw new Error(`${of} ${key} has no case`);
  return `### ${SECTIONS[of].title}: \`${key}\`\n\n\`\`\`\`markdown\n${textOf(first)}\n\`\`\`\`\n`;
}

function textOf({ keys, agent, flow }: OptionCase): string {
  if (agent !== undefined) return `---\ndescription: Works.\n${agent}---\n\nYou work.`;
  return keys === undefined ? flow : `---\n${keys}---\n\n${flow}`;
}
