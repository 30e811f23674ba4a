import { z } from 'zod';
import { AnyJson, Next, Page, Time, Usd, type Wire } from './common.js';
import { IssueBody } from './deploys.js';

export const Item = z.number().int().describe('Of an each, from 1');

const Tag = z.string().min(1).max(100);

export const StartRun = z.strictObject({
  task: z
    .union([z.string().max(256 * 1024), z.record(z.string(), AnyJson)])
    .optional()
    .describe('The input: a text, or an object when the flow declares input:'),
  from: z.number().int().positive().optional().describe('Start at step N'),
  tags: z.array(Tag).max(20).optional(),
});

export const StartAgent = z.strictObject({
  task: z
    .string()
    .min(1)
    .max(256 * 1024),
  tags: z.array(Tag).max(20).optional(),
});

export const Started = z
  .object({
    ok: z.literal(true),
    runId: z.string(),
    steps: z.number().int().describe('How many steps the flow has'),
    from: z.number().int(),
  })
  .meta({ id: 'StartedRun' });
export type Started = Wire<typeof Started>;

export const Skipped = z
  .object({ ok: z.literal(true), skipped: z.literal(true) })
  .meta({ id: 'SkippedRun' })
  .describe('No run was made: the flow’s concurrency is full, and it says on_limit: skip');
export type Skipped = Wire<typeof Skipped>;

export const RerunRun = z.strictObject({
  step: z.number().int().positive().optional().describe('Begin at step N with the results of the steps before it'),
  agent: z.string().min(1).max(255).optional().describe('Who runs step N instead: an agent of the revision'),
  with: z.literal('current').optional().describe('On the revision that is live today, not on the run’s own'),
});

export const PromoteRun = z
  .strictObject({
    evalName: z.string().min(1).max(200).optional().describe('Picks the file; `<target>-regressions` when left out'),
    caseName: z.string().min(1).max(200).optional(),
    expect: z
      .array(z.string().min(1).max(4_000))
      .max(100)
      .optional()
      .describe('Assertion lines; they take the place of the default judge'),
  })
  .meta({ id: 'PromoteRun' });

export const PromotedRun = z
  .object({
    ok: z.literal(true),
    file: z.string(),
    created: z.boolean().describe('False when the case was appended to a file'),
    caseName: z.string().describe('With a number behind it where the name was taken'),
    trigger: z.enum(['manual', 'own']).describe('A new file is run by hand (`manual`); another keeps its own trigger'),
    warnings: z.array(z.string()).describe('What of the run the case does not say'),
    issues: z.array(IssueBody).describe('What a deploy says of the file, such as an assertion that is nearly a type'),
  })
  .meta({ id: 'PromotedRun' });
export type PromotedRun = Wire<typeof PromotedRun>;

const RerunView = z.object({
  of: z.string(),
  step: z.number().int(),
  agent: z.string().nullable(),
  with: z.enum(['own', 'current']),
  copied: z.array(z.number().int()).describe('The steps whose results were taken over'),
  notCopied: z.array(z.object({ n: z.number().int(), id: z.string(), why: z.string() })),
});

export const RunStatus = z.enum(['queued', 'running', 'awaiting-approval', 'completed', 'failed']);
export type RunStatus = Wire<typeof RunStatus>;

export const RunsQuery = Page.extend({
  flow: z.string().max(200).optional(),
  status: RunStatus.optional(),
  tag: Tag.optional(),
  mode: z
    .enum(['normal', 'eval', 'all'])
    .optional()
    .describe('`eval` lists the runs of evals’ cases; `all` lists those, child runs and all others'),
  parent: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe('Only the child runs of this run: its subflows, and the sub-agents that its agents delegated to'),
});

export const RunSummary = z
  .object({
    id: z.string(),
    flow: z.string(),
    status: RunStatus,
    stopped: z.boolean(),
    createdAt: Time,
    startedAt: Time.nullable(),
    finishedAt: Time.nullable(),
    durationMs: z.number().nullable(),
    summary: z.string().nullable().describe('The first line of the last step that produced a result'),
    error: z.string().nullable(),
    costUsd: Usd,
    tags: z.array(z.string()),
    parentId: z.string().nullable().describe('The run that this one is a child of'),
    waitsForSlot: z.boolean().describe('The flow’s concurrency is full, and this run waits for a slot'),
  })
  .meta({ id: 'RunSummary' });
export type RunSummary = Wire<typeof RunSummary>;

export const RunList = z.object({ runs: z.array(RunSummary), next: Next }).meta({ id: 'RunList' });
export type RunList = Wire<typeof RunList>;

const Round = z.object({
  round: z.number().int(),
  status: z.enum(['pending', 'running', 'waiting', 'completed', 'failed', 'skipped']),
  attempts: z.number().int(),
  result: z.string().nullable(),
  data: AnyJson.optional().describe('The parsed value; only when the step declared output: json'),
  eventPayload: AnyJson.optional().describe('What released a wait: event step'),
  decision: AnyJson.optional(),
  edits: z
    .array(z.object({ at: Time, by: z.string(), result: z.string().nullable(), data: AnyJson }))
    .optional()
    .describe('What deciders replaced, oldest first'),
  error: z.string().optional(),
  copied: z.literal(true).optional().describe('Copied from the run that this one reruns'),
  costUsd: Usd,
  tokens: z.object({ input: z.number(), output: z.number(), cached: z.number() }),
  startedAt: Time.nullable(),
  finishedAt: Time.nullable(),
  durationMs: z.number().nullable(),
});
/** One execution of a step. */
export type RoundView = Wire<typeof Round>;

const Step = Round.extend({
  n: z.number().int(),
  id: z.string(),
  title: z.string(),
  agent: z.string().nullable(),
  group: z.string().nullable(),
  rounds: z.array(Round).describe('Earlier rounds of a step that was gone back to'),
  items: z.array(Round).optional().describe('The items of an each'),
  files: z.array(z.object({ agent: z.string(), path: z.string(), size: z.number() })),
  trace: z
    .array(
      z.looseObject({
        at: Time,
        kind: z.string(),
        text: z.string(),
        item: Item.optional(),
      }),
    )
    .describe('The newest lines, oldest first; /events?step= lists them all'),
  traceTotal: z.number().int(),
});
export type StepView = Wire<typeof Step>;

const GatedCall = z.object({
  name: z.string(),
  args: AnyJson.describe('The arguments; of long ones the beginning, as text'),
  digest: z.string().describe('SHA-256 of the name and all of the arguments; what runs is what was approved'),
  characters: z.number().int().optional().describe('How long the arguments are, when only their beginning is shown'),
  question: z.string().optional().describe('What ask_human asks'),
});

const Editable = z.object({
  step: z.number().int(),
  id: z.string(),
  title: z.string(),
  result: z.string().nullable(),
  data: AnyJson.optional(),
  schema: AnyJson.optional(),
});

/** The part of a gate that a decision names. */
export const GateMark = z
  .object({
    round: z
      .number()
      .int()
      .describe('How often a gate of this step, and of this item, has been opened in the run, this one included'),
    digest: z.string().describe('SHA-256 of all that is decided'),
  })
  .meta({ id: 'GateMark' });
export type GateMark = Wire<typeof GateMark>;

export const Gate = z.object({
  gate: GateMark.describe('Send it with the decision: what has changed since is not decided'),
  ask: z.string().describe('What a gate asks'),
  need: z.number().int().describe('How many distinct persons have to approve'),
  decided: z.number().int().describe('How many have approved'),
  votes: z
    .array(
      z.object({
        by: z.string(),
        at: Time,
        decision: z.string(),
        note: z.string().nullable(),
        form: AnyJson.optional(),
        edits: AnyJson.optional(),
      }),
    )
    .describe('What was counted so far; edits are made once the gate is decided'),
  approvers: z.array(z.string()).describe('Who may decide now'),
  mayDecide: z.boolean().describe('Whether the caller may decide'),
  form: AnyJson.optional().describe('JSON Schema of what an approval fills in'),
  edit: z.array(Editable).optional().describe('Steps whose work an approval may change'),
  budget: z
    .object({
      of: z.string().describe('What is used up: the run, or the month of a workspace or an account'),
      budgetUsd: Usd,
      spentUsd: Usd,
      raiseUsd: Usd.nullable().describe('What an approval adds; null when it only checks again'),
    })
    .optional()
    .describe('When the gate is about money that is used up'),
  calls: z.array(GatedCall).optional().describe('The tool calls that wait, when the gate is about them'),
});

export type Gate = Wire<typeof Gate>;

/** One gate of GET /api/approvals. */
const Approval = Gate.extend({
  workspace: z.string(),
  runId: z.string(),
  flow: z.string(),
  step: z.number().int(),
  id: z.string().describe('The step’s id'),
  title: z.string(),
  item: Item.optional(),
  since: Time,
  due: Time.nullable(),
  summary: z.string().describe('The run’s summary; before there is one the first line of its newest result'),
}).meta({ id: 'Approval' });
export type Approval = Wire<typeof Approval>;

export const ApprovalList = z.object({ approvals: z.array(Approval), next: Next }).meta({ id: 'ApprovalList' });
export type ApprovalList = Wire<typeof ApprovalList>;

const Waiting = z.object({
  step: z.number().int(),
  id: z.string(),
  title: z.string(),
  kind: z
    .string()
    .describe(
      'approval, event, timer, subflow, slot (in line), model (a provider that fails), preparing (a runtime), turn (a call that may end its worker)',
    ),
  item: Item.optional(),
  since: Time,
  due: Time.nullable(),
  ...Gate.partial().shape,
  releaseUrl: z.string().optional(),
  runId: z.string().optional(),
  reason: z.string().optional().describe('Why it waits for a slot, or what delays the step'),
});
export type Waiting = Wire<typeof Waiting>;

export const RunView = RunSummary.extend({
  input: AnyJson,
  trigger: AnyJson,
  startedBy: AnyJson,
  from: z.number().int(),
  revision: z.string(),
  budgetUsd: Usd.optional().describe('The cap the run is held to; only for flows that declare budget:'),
  memoryWrites: z.array(z.string()),
  rerunOf: z.string().nullable(),
  rerun: RerunView.optional().describe('What a rerun took over, and what not'),
  waiting: z.array(Waiting),
  gate: GateMark.optional().describe('Of the open gate, when there is exactly one'),
  steps: z.array(Step),
  usage: z
    .array(
      z.object({
        model: z.string(),
        calls: z.number().int(),
        tokens: z.object({ input: z.number(), output: z.number(), cached: z.number() }),
        costUsd: Usd.nullable().describe('Null when no price is known'),
        estimated: z.boolean(),
      }),
    )
    .describe('By the model that answered, `<provider>/<model>`, whatever alias named it'),
  lastSeq: z.number().int(),
}).meta({ id: 'Run' });
export type RunView = Wire<typeof RunView>;

export const StreamQuery = z.object({
  after: z.coerce.number().int().min(0).optional().describe('Resume after this seq, as Last-Event-ID does'),
});

export const DecideRun = z.strictObject({
  decision: z.enum(['approve', 'reject']),
  step: z
    .number()
    .int()
    .positive()
    .optional()
    .describe('The step’s number. Needed when more than one waits; a request without it decides whichever step waits'),
  round: z
    .number()
    .int()
    .positive()
    .optional()
    .describe(
      'gate.round as it was read: 409 with code changed when another round is open. Each item of an each counts its own rounds, so send digest to name the gate of one item',
    ),
  digest: z
    .string()
    .max(200)
    .optional()
    .describe('gate.digest as it was read: 409 with code changed when the gate shows something else'),
  note: z.string().max(4_000).optional(),
  reason: z.string().max(4_000).optional(),
  edits: z
    .record(z.string().max(200), AnyJson)
    .optional()
    .describe(
      'With an approval, new work of steps that the gate’s edit: names, by id: a text, or a value for output: json',
    ),
  form: z.record(z.string().max(200), AnyJson).optional().describe('What the gate’s form asks for'),
});

export const Decided = z.object({ ok: z.literal(true), decided: z.number().int(), need: z.number().int() });
export type Decided = Wire<typeof Decided>;

export const Stopped = z.object({
  ok: z.literal(true),
  stopped: z.boolean().describe('False when the run had ended already'),
});
export type Stopped = Wire<typeof Stopped>;

export const Ok = z.object({ ok: z.literal(true) });
export type Ok = Wire<typeof Ok>;

export const EventParams = z.object({ tenant: z.string().max(255), ws: z.string().max(255), id: z.string().max(255) });
export const EventQuery = z.object({
  token: z.string().max(200).default(''),
  step: z.string().max(200).optional().describe('The step’s id, when more than one waits'),
});
export const Released = z.object({ ok: z.literal(true), runId: z.string(), step: z.string() });
export type Released = Wire<typeof Released>;
