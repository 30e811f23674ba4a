import { z } from 'zod';
import { AnyJson, Next, Page, Time, type Wire } from './common.js';
import { IssueBody } from './deploys.js';
import { RunStatus } from './runs.js';
import { CreatedAssetBody } from './workspaces.js';

const Name = z.string().min(1).max(200);
const Options = z.record(z.string().max(100), AnyJson);

const LastRun = z.object({ id: z.string(), status: RunStatus, createdAt: Time, finishedAt: Time.nullable() });
export type LastRun = Wire<typeof LastRun>;

const Listed = z.object({
  name: z.string(),
  path: z.string(),
  description: z.string(),
  trigger: z.array(z.string()),
  enabled: z.boolean(),
  agents: z.array(z.string()),
  schedule: z.object({ cron: z.string(), timezone: z.string().optional() }).nullable(),
  lastRun: LastRun.nullable(),
  issues: z.array(IssueBody),
});

export const NamedPage = Page;

/** GET …/flows */
export const FlowList = z
  .object({ flows: z.array(Listed.extend({ steps: z.number().int() })), next: Next })
  .meta({ id: 'FlowList' });
export type FlowList = Wire<typeof FlowList>;

/** GET …/flows/<flow> */
export const FlowBody = Listed.extend({
  sha: z.string().describe('Of its file; also the ETag'),
  steps: z.array(
    z.object({
      n: z.number().int(),
      id: z.string(),
      title: z.string(),
      agent: z.string().nullable(),
      subflow: z.string().nullable(),
      group: z.string().nullable().describe('The group that it runs in parallel in'),
      options: z.record(z.string(), z.string()).describe('As they are written'),
      instruction: z.string(),
      schemas: z.array(z.string()).describe('Its schema and form blocks, as they are written'),
      line: z.number().int(),
    }),
  ),
  groups: z.array(z.array(z.number().int())).describe('The steps’ numbers, those that run in parallel together'),
  revision: z.string().nullable(),
  hookUrl: z.string().optional().describe('Where a webhook is posted to; for editors, of a flow with trigger: webhook'),
  inboxUrl: z.string().optional().describe('Where mail is posted to; for editors, of a flow with trigger: email'),
}).meta({ id: 'Flow' });
export type FlowBody = Wire<typeof FlowBody>;

/** POST …/flows */
export const CreateFlow = z
  .strictObject({
    name: Name,
    pattern: z.enum(['blank', 'chain', 'parallel', 'route', 'review', 'loop']).optional().describe('blank'),
    description: z.string().min(1).max(1_000).optional(),
    agent: Name.optional().describe('Who does its steps; the first agent of the workspace when left out'),
  })
  .meta({ id: 'CreateFlow' });

/** POST and PATCH …/flows/<flow>: the fields of the body determine the change. */
export const ChangeFlow = z
  .strictObject({
    step: z.number().int().positive().optional().describe('The step that is edited; a new one is added without it'),
    before: z.number().int().positive().optional().describe('Where a new step goes; the end when left out'),
    title: z.string().min(1).max(200).optional().describe('Of a new step'),
    instruction: z.string().max(100_000).optional(),
    options: Options.optional().describe('Null removes one'),
    target: Name.nullable().optional().describe('The agent that does it'),
    subflow: Name.nullable().optional().describe('The flow that does it'),
    groups: z
      .array(z.array(z.number().int().positive()).max(1_000))
      .max(1_000)
      .optional()
      .describe('All steps in their new order, those that run in parallel together: [[1], [2, 3]]'),
    trigger: z
      .union([z.string().max(100), z.array(z.string().max(100)).max(10), Options])
      .optional()
      .describe('A word, several, or an object with the keys that belong to it'),
    enabled: z.boolean().optional(),
    description: z.string().min(1).max(1_000).optional(),
  })
  .meta({ id: 'ChangeFlow' });
export type ChangeFlow = z.infer<typeof ChangeFlow>;

/** DELETE …/flows/<flow>: the step in the query or in the body. */
export const StepQuery = z.object({
  step: z.coerce.number().int().positive().optional().describe('One step instead of the whole flow'),
});
export const StepBody = z.strictObject({ step: z.number().int().positive().optional() });

export const Deleted = z.object({ ok: z.literal(true), name: z.string() }).meta({ id: 'Deleted' });
export type Deleted = Wire<typeof Deleted>;

const AgentBody = z.object({
  name: z.string(),
  path: z.string(),
  description: z.string(),
  model: z.string().nullable(),
  tools: z.array(z.string()).describe('The built-ins that are on, and the tools that its file grants'),
  secrets: z.array(z.string()),
  flows: z.array(z.string()).describe('The flows of which it does a step'),
  lastRun: LastRun.nullable().describe('Its newest run alone'),
});

export type AgentBody = Wire<typeof AgentBody>;

/** GET …/agents */
export const AgentList = z.object({ agents: z.array(AgentBody), next: Next }).meta({ id: 'AgentList' });
export type AgentList = Wire<typeof AgentList>;

/** POST …/agents: the agent, and its file. */
export const CreatedAgentBody = CreatedAssetBody.extend(AgentBody.shape).meta({ id: 'CreatedAgent' });
export type CreatedAgentBody = Wire<typeof CreatedAgentBody>;

/** POST …/agents */
export const CreateAgent = z
  .strictObject({
    name: Name,
    template: z.enum(['blank', 'writer', 'researcher', 'reviewer']).optional().describe('blank'),
    description: z.string().min(1).max(1_000).optional(),
  })
  .meta({ id: 'CreateAgent' });
