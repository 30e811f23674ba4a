import { beforeAll, expect, test } from 'vitest';
import { ROWS } from '../support/options/index.js';
import type { Family, OptionRow, Refused } from '../support/options/row.js';
import { bodyOf, createWorkspaceApp, type WorkspaceApp } from '../support/workspace-app.js';

let app: WorkspaceApp;
beforeAll(async () => {
  app = await createWorkspaceApp();
});

const BASE = {
  'AGENTS.md': '# Shop\n',
  'agents/worker.md': '---\ndescription: Works.\n---\n\nYou work.\n',
  'flows/inner.md': '---\ndescription: Is called.\n---\n\n## Work @worker\n\nWork.\n',
};
const FIRST = ['---', 'description: A flow.', '---', '', '## First @worker', '', 'One.', ''];

interface Written {
  readonly path: string;
  readonly lines: readonly string[];
  /** Of the option, from 1. */
  readonly line: number;
}

function step({ write, beside = [], doer = '@worker', below = 'Two.' }: Refused, name: string): Written {
  const before = [...FIRST, `## Second ${doer}`.trim(), '', ...beside.map((option) => `- ${option}`)];
  return { path: `flows/${name}.md`, lines: [...before, `- ${write}`, '', below], line: before.length + 1 };
}

/** The option where it belongs, in a file of its own. */
const WRITE: Readonly<Record<Family, (refused: Refused, name: string) => Written>> = {
  step,
  gate: step,
  group: ({ write }, name) => {
    const before = [...FIRST, '## Both', ''];
    const branches = ['', '### Left @worker', '', 'L.', '', '### Right @worker', '', 'R.'];
    return { path: `flows/${name}.md`, lines: [...before, `- ${write}`, ...branches], line: before.length + 1 };
  },
  flow: ({ write }, name) => ({
    path: `flows/${name}.md`,
    lines: ['---', 'description: A flow.', write, ...FIRST.slice(2)],
    line: 3,
  }),
  agent: ({ write }, name) => ({
    path: `agents/${name}.md`,
    lines: ['---', 'description: Works.', write, '---', '', 'You work.'],
    line: 3,
  }),
};

const table = ROWS.map((row) => [row.of, row.key, row] as const);
test.each(table)(
  '%s option %s: each bad value is refused at deploy with its code, at its line',
  async (_of, _key, row) => {
    const written = row.refused.map((refused, index) => ({ refused, at: WRITE[row.of](refused, `bad-${index}`) }));
    const { name } = await app.workspace();
    const files = Object.fromEntries(written.map(({ at }) => [at.path, `${at.lines.join('\n')}\n`]));
    const answer = await app.deploy(name, { ...BASE, ...files });
    const { ok, issues } = await bodyOf(answer);
    expect([answer.status, ok]).toEqual([422, false]);
    const errors = (issues as Issue[]).filter(({ severity }) => severity === 'error');
    const seen = written.map(({ refused, at }) => ({
      write: refused.write,
      issues: errors.filter(({ path }) => path === at.path).map(({ line, code }) => ({ line, code })),
    }));
    expect(seen).toEqual(
      written.map(({ refused: { write, code }, at: { line } }) => ({ write, issues: [{ line, code }] })),
    );
    for (const { refused, at } of written) {
      const [issue] = errors.filter(({ path }) => path === at.path);
      expect(`${issue?.message} ${issue?.hint ?? ''}`).toContain(refused.says);
    }
    expect(errors.every(({ path }) => written.some(({ at }) => at.path === path))).toBe(true);
  },
);

interface Issue {
  readonly path: string;
  readonly line: number;
  readonly code: string;
  readonly severity: string;
  readonly message: string;
  readonly hint?: string;
}

test('every option has a value that is refused', () => {
  const bare = (row: OptionRow) => row.refused.length === 0;
  expect(ROWS.filter(bare).map(({ of, key }) => `${of} ${key}`)).toEqual([]);
});
