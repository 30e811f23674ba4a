import { writeSource } from '../content/index.js';
import type { CreatedEval } from '../contract/evals.js';
import type { Deps } from '../deps.js';
import { notFound, Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { readLiveEvals } from './find-eval.js';
import { evalSummary } from './list-evals.js';

export interface CreateEvalInput {
  readonly workspace: string;
  readonly name: string;
  /** `flows/<name>` or `agents/<name>`. Defaults to the first flow, else the first agent. */
  readonly target?: string | undefined;
  readonly template?: 'blank' | 'gates' | undefined;
}

/**
 * Creates an eval's document from a template, as a deploy of the live tree with that file added. Refuses a name in use.
 */
export async function createEval(deps: Deps, caller: Caller, input: CreateEvalInput): Promise<CreatedEval> {
  const { name, template = 'blank' } = input;
  const { evals, plans } = await readLiveEvals(deps.db, caller, input.workspace);
  if (evals.some((one) => one.name === name))
    throw new Refusal('conflict', `there is an eval ${name} already; choose another name`);
  const target = input.target ?? firstTarget(plans);
  if (plans[target] === undefined) throw notFound(target.startsWith('agents/') ? 'agent' : 'flow');
  const path = `evals/${name}.md`;
  const written = await writeSource(deps, caller, {
    workspace: input.workspace,
    path,
    content: new TextEncoder().encode(TEMPLATES[template](name, target)),
    expect: { absent: true },
  });
  const made = (await readLiveEvals(deps.db, caller, input.workspace)).evals.find((one) => one.name === name);
  if (made === undefined) throw notFound('eval');
  return { ok: true, ...evalSummary(made, null), revision: written.revision, issues: written.issues };
}

function firstTarget(plans: Readonly<Record<string, string>>): string {
  const names = Object.keys(plans).sort();
  const first = names.find((one) => one.startsWith('flows/')) ?? names[0];
  if (first === undefined)
    throw new Refusal('refused', 'the workspace has no flow and no agent that an eval could run');
  return first;
}

type Template = (name: string, target: string) => string;

const head: Template = (name, target) => `---
name: ${name}
description: What ${target} has to get right.
target: ${target}
trigger: manual
---

## It does what is asked

### Input

Write here what comes in.
`;

const TEMPLATES = {
  blank: (name, target) => `${head(name, target)}
### Expect

- status: completed
- The output does what the input asks.
`,
  gates: (name, target) => `${head(name, target)}
<!-- Under "### Decisions" a case answers gates and events: "- step_id: approve", "- step_id: event {}".
Under "### Tools" it gives the results of tools, in a block of code that begins with "json tool.operation". -->

### Expect

- status: completed
- cost: 0.50
- The output does what the input asks.
`,
} as const satisfies Record<NonNullable<CreateEvalInput['template']>, Template>;
