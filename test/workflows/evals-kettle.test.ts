import { beforeAll, expect, test } from 'vitest';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { evalVerbs } from '../support/evals.js';
import type { Tree } from '../support/workspace-app.js';
import { kettleAndLeaf } from '../unit/workspace/tree.js';

let app: EngineApp;
let evals: ReturnType<typeof evalVerbs>;
beforeAll(async () => {
  app = await createEngineApp();
  evals = evalVerbs(app);
});

const json = (value: object) => JSON.stringify(JSON.stringify(value));

/** What the shop's agents say in its two cases: the triager decides by the message, and cites the rule it has in its prompt. */
const SCRIPTS: Tree = {
  'agents/triager/script.yaml': `- when: { contains: broken }
  text: ${json({ verdict: 'refund', amount: 140, reason: 'Broken on arrival: full refund within 30 days.' })}
- when: { contains: opened }
  text: ${json({ verdict: 'refuse', amount: 0, reason: 'Opened tea: no refund.' })}
`,
  'agents/shop-analyst/script.yaml': `- when: { step: order_history, turn: 1 }
  calls: [{ tool: shop__get_order, args: { id: A-1042 } }, { tool: shop__list_refunds, args: { id: A-1042 } }]
- when: { step: order_history, turn: 2 }
  text: ${json({ orders: 1, refunds_last_year: 0 })}
- when: { step: refund, turn: 1 }
  calls: [{ tool: shop__refund, args: { id: A-1042, body: { amount: 140 } } }]
- when: { step: refund, turn: 2 }
  text: ${json({ refund_id: 'R-1', paid: 140 })}
`,
  'agents/courier-analyst/script.yaml': `- when: { turn: 1 }
  calls: [{ tool: courier__last_scan, args: { order: A-1042 } }]
- when: { turn: 2 }
  text: "Delivered in Krakow: {{last}}"
`,
  'agents/writer/script.yaml': `- when: { step: draft }
  text: Your kettle came broken. You have the money back within three working days.
- when: { turn: 1 }
  calls: [{ tool: send-email, args: { method: POST, path: /messages } }]
- when: { turn: 2 }
  text: "Sent, after your kettle: {{last}}"
`,
  'agents/judge.md': '---\nname: judge\ndescription: Judges.\n---\n\nYou judge.\n',
  'agents/judge/script.yaml': `- text: ${json({ verdicts: [{ n: 1, holds: true, evidence: 'It says so.' }] })}\n`,
};

/** Steps are given the secrets that they name, though nothing of an eval asks for them. */
async function made(files: Tree): Promise<string> {
  const workspace = await app.workspace(files);
  for (const name of ['SHOP_API_KEY', 'COURIER_TOKEN', 'CRM_TOKEN', 'MAIL_TOKEN']) {
    const put = await app.put('/api/secrets', { name, workspace, value: `a value of ${name}` });
    if (!put.ok) throw new Error(await put.text());
  }
  return workspace;
}

/** The example with its agents as folders, on the scripted provider. */
function shop(change: (files: Record<string, string>) => void = () => undefined): Tree {
  const files = kettleAndLeaf();
  for (const name of ['triager', 'shop-analyst', 'courier-analyst']) {
    files[`agents/${name}/agent.md`] = files[`agents/${name}.md`] ?? '';
    delete files[`agents/${name}.md`];
  }
  const judge = SCRIPTS['agents/judge.md'] ?? '';
  const { 'agents/judge.md': _flat, ...scripts } = SCRIPTS;
  Object.assign(files, scripts, { 'agents/judge/agent.md': judge });
  files['AGENTS.md'] = (files['AGENTS.md'] ?? '').replaceAll('openai/gpt-5-mini', 'scripted/demo');
  change(files);
  return files;
}

test('the evals of the example pass on the scripted provider, and act on nothing', async () => {
  const workspace = await made(shop());
  const run = await evals.whole(workspace, 'refund-request-regressions');
  expect(
    run.cases.map(({ name, error, assertions }) => [name, error, assertions.filter(({ passed }) => !passed)]),
  ).toEqual([
    ['Broken kettle over the limit waits for finance', null, []],
    ['Angry but inside the policy is refused politely', null, []],
  ]);
  expect(run).toMatchObject({ ok: true, passed: 2 });
});

test('with its policy broken they fail, and say where', async () => {
  const workspace = await made(
    shop((files) => {
      // Opened tea is refunded now, as the triager reads it, and finance signs nothing.
      files['knowledge/refund-policy.md'] = (files['knowledge/refund-policy.md'] ?? '').replace(
        'Opened tea: no refund.',
        'Opened tea: full refund.',
      );
      files['agents/triager/script.yaml'] = (files['agents/triager/script.yaml'] ?? '').replace(
        json({ verdict: 'refuse', amount: 0, reason: 'Opened tea: no refund.' }),
        json({ verdict: 'refund', amount: 20, reason: 'Opened tea: full refund.' }),
      );
      files['flows/refund-request.md'] = (files['flows/refund-request.md'] ?? '').replace(
        'steps.read.data.amount > 100',
        'steps.read.data.amount > 1000',
      );
    }),
  );
  const run = await evals.whole(workspace, 'refund-request-regressions');
  const failed = run.cases.map(({ passed, assertions }) => [
    passed,
    assertions.filter((one) => !one.passed).map(({ text }) => text),
  ]);
  expect(failed).toEqual([
    [false, ['step(finance_signs_off): status: completed']],
    [false, ["step(read): cel: data.verdict == 'refuse'", 'not-tool-called: shop.refund']],
  ]);
});
