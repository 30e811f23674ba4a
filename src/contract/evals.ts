import { z } from 'zod';
import { AnyJson, Next, Page, Time, Usd, type Wire, WorkspaceParams } from './common.js';
import { IssueBody } from './deploys.js';

const Name = z.string().min(1).max(255);
const Title = z.string().min(1).max(500);

export const EvalParams = WorkspaceParams.extend({ eval: Name.describe('The eval’s name') });
export const EvalRunParams = EvalParams.extend({ id: Name.describe('The eval run’s id') });

export const CreateEval = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'a name is lower-case words and digits joined by single hyphens')
    .max(64),
  target: z
    .string()
    .regex(/^(flows|agents)\/[a-z0-9-]+$/, 'a target is flows/<name> or agents/<name>')
    .max(80)
    .optional()
    .describe('What is run; the first flow, else the first agent, when left out'),
  template: z.enum(['blank', 'gates']).optional().describe('`gates` shows how a case answers gates and tools'),
});

export const RunEval = z.strictObject({
  cases: z.array(Title).min(1).max(500).optional().describe('Only the cases of these titles'),
  tags: z.array(z.string().min(1).max(100)).min(1).max(50).optional().describe('Only cases with one of these tags'),
});

export const StartedEval = z
  .object({
    ok: z.literal(true),
    evalRunId: z.string(),
    cases: z.number().int().describe('How many cases run'),
  })
  .meta({ id: 'StartedEval' });
export type StartedEval = Wire<typeof StartedEval>;

export const EvalRunSummary = z
  .object({
    id: z.string(),
    eval: z.string(),
    status: z.enum(['queued', 'running', 'completed', 'stopped', 'failed']),
    ok: z.boolean().nullable().describe('Whether every case passed; null until it has ended'),
    trigger: z.enum(['manual', 'push']),
    revision: z.string(),
    startedBy: AnyJson,
    error: z.string().nullable(),
    cases: z.number().int(),
    passed: z.number().int(),
    failed: z.number().int(),
    skipped: z.number().int(),
    costUsd: Usd.describe('The cases’ runs and the judge'),
    createdAt: Time,
    startedAt: Time.nullable(),
    finishedAt: Time.nullable(),
  })
  .meta({ id: 'EvalRunSummary' });
export type EvalRunSummary = Wire<typeof EvalRunSummary>;

const Eval = z.object({
  name: z.string(),
  path: z.string(),
  description: z.string(),
  target: z.string(),
  trigger: z.enum(['push', 'manual']),
  tags: z.array(z.string()),
  cases: z.array(z.object({ name: z.string(), tags: z.array(z.string()), skip: z.boolean() })),
  lastRun: EvalRunSummary.nullable(),
});

export type Eval = Wire<typeof Eval>;

export const EvalList = z.object({ evals: z.array(Eval), next: Next }).meta({ id: 'EvalList' });
export type EvalList = Wire<typeof EvalList>;

/** POST …/evals: the eval, and the result of its deploy. */
export const CreatedEval = Eval.extend({
  ok: z.literal(true),
  revision: z.string().nullable(),
  issues: z.array(IssueBody).describe('Warnings'),
}).meta({ id: 'CreatedEval' });
export type CreatedEval = Wire<typeof CreatedEval>;

export const EvalRunsQuery = Page;
export const EvalRunList = z.object({ runs: z.array(EvalRunSummary), next: Next }).meta({ id: 'EvalRunList' });
export type EvalRunList = Wire<typeof EvalRunList>;

export const EvalRunQuery = z.object({
  compare: Name.optional().describe('Another run of the same eval: the answer shows what changed since that one'),
});

const Graded = z.object({
  text: z.string().describe('The assertion as its line says it'),
  passed: z.boolean(),
  evidence: z.string(),
});
export type GradedAssertion = Wire<typeof Graded>;

const Attempt = z.object({
  repeat: z.number().int(),
  state: z.enum(['pending', 'running', 'graded', 'error']),
  passed: z.boolean().nullable(),
  score: z.number().nullable(),
  assertions: z.array(Graded),
  error: z.string().nullable().describe('Why it could not be graded, which counts as not passed'),
  runId: z.string().nullable(),
  costUsd: Usd,
});
export type AttemptView = Wire<typeof Attempt>;

const Case = z.object({
  name: z.string(),
  tags: z.array(z.string()),
  state: z.enum(['pending', 'running', 'done', 'skipped']),
  passed: z.boolean().nullable().describe('Whether the pass rate reaches the threshold; null until it is done'),
  score: z.number().nullable().describe('The share of assertions that hold, the mean over repeats'),
  passRate: z.number().nullable(),
  threshold: z.number(),
  assertions: z.array(Graded).describe('Of the first repeat that did not pass, else of the first'),
  error: z.string().nullable(),
  runId: z.string().nullable(),
  costUsd: Usd,
  repeats: z.array(Attempt).optional().describe('All of them, where the case runs more than once'),
});
export type CaseView = Wire<typeof Case>;

const Result = z.object({
  passed: z.boolean().nullable(),
  score: z.number().nullable(),
  costUsd: Usd,
  runId: z.string().nullable(),
});

export const EvalRunView = EvalRunSummary.omit({ cases: true })
  .extend({
    cases: z.array(Case),
    comparison: z
      .object({
        with: EvalRunSummary,
        cases: z.array(
          z.object({
            name: z.string(),
            change: z
              .enum(['broken', 'fixed', 'same', 'added', 'removed', 'unknown'])
              .describe('broken: passed then, fails now; unknown: one side has no result'),
            was: Result.nullable(),
            now: Result.nullable(),
          }),
        ),
      })
      .optional(),
  })
  .meta({ id: 'EvalRun' });
export type EvalRunView = Wire<typeof EvalRunView>;

export const StoppedEval = z.object({
  ok: z.literal(true),
  stopped: z.boolean().describe('False when it had ended already'),
});
export type StoppedEval = Wire<typeof StoppedEval>;
