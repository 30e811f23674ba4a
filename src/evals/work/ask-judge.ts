import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Deps } from '../../deps.js';
import { ModelError, type ModelReply, type ResolvedModel } from '../../models/contract.js';
import { failpoint } from '../../shared/failpoint.js';
import { errorMessage, Refusal } from '../../shared/refusal.js';
import type { Plan } from '../../workspace/index.js';
import { readRunFile } from '../../workspaces/index.js';
import type { CaseEvidence, Finding } from '../grade/evidence.js';
import type { Statement } from '../grade/grade-case.js';
import { judgePrompt, VERDICTS } from '../grade/judge-prompt.js';
import { BadVerdict, readVerdicts } from '../grade/read-verdicts.js';
import type { AttemptRow } from './attempt-row.js';
import { beginJudge, endJudge, JudgeFailed, settleLost } from './judge-books.js';

const TRIES = 3;
const LONGEST_WAIT_MS = 10_000;
const OUTPUT_TOKENS = 600;
const OUTPUT_TOKENS_EACH = 300;
const CHARACTERS_A_TOKEN = 3;
/** On the scripted provider the judge speaks from here, as an agent does from its own. */
const SCRIPT = 'agents/judge/script.yaml';

interface Case {
  readonly attempt: AttemptRow;
  readonly plan: Plan;
  readonly evidence: CaseEvidence;
  readonly signal: AbortSignal;
}

/**
 * What the judge finds of a case's statements, by their places: one call for all that one model judges. Throws
 * JudgeFailed or BadVerdict when it says nothing that counts. What it answered once is not asked again.
 */
export async function askJudge(
  deps: Deps,
  at: Case,
  statements: readonly Statement[],
): Promise<ReadonlyMap<number, Finding>> {
  const byModel = new Map<string, Statement[]>();
  for (const statement of statements) {
    const name = statement.assertion.arg ?? at.attempt.spec.judge ?? '';
    byModel.set(name, [...(byModel.get(name) ?? []), statement]);
  }
  const findings = new Map<number, Finding>();
  for (const [number, [name, own]] of [...byModel].entries()) {
    const text = await askOne(deps, at, { number, name: name === '' ? null : name, statements: own });
    for (const [index, finding] of readVerdicts(text, own.length).entries()) {
      const place = own[index]?.at;
      if (place !== undefined) findings.set(place, finding);
    }
  }
  return findings;
}

interface Question {
  readonly number: number;
  /** Null is the default model. */
  readonly name: string | null;
  readonly statements: readonly Statement[];
}

async function askOne(deps: Deps, at: Case, question: Question): Promise<string> {
  const models = deps.models.resolve(question.name, at.plan.workspace.models);
  let last = 'no model is configured';
  for (const model of models) {
    const answer = await askModel(deps, at, { ...question, model });
    if (typeof answer === 'string') return answer;
    last = answer.message;
    if (answer.ours) break;
  }
  throw new JudgeFailed(last);
}

type Asked = Question & { readonly model: ResolvedModel };

async function askModel(deps: Deps, at: Case, asked: Asked): Promise<string | ModelError> {
  const { attempt, signal } = at;
  const { number, model } = asked;
  const request = await requestOf(deps, at, asked);
  const inputTokens = Math.ceil((request.system.length + request.user.length) / CHARACTERS_A_TOKEN);
  const price = model.price ?? { input: 0, output: 0 };
  const needNano = BigInt(Math.ceil(inputTokens * price.input + request.maxOutputTokens * price.output));
  for (let tries = 1; ; tries += 1) {
    await deps.db.transaction((sql) => settleLost(sql, attempt, model));
    const before = await beginJudge(deps, attempt, { number, model, needNano });
    if (before !== null) return before;
    failpoint('judge-asked');
    try {
      const reply = await call(deps, at, { ...request, model, number, tries });
      failpoint('judge-answered');
      await endJudge(deps, attempt, { number, model, used: reply, said: reply.text });
      return reply.text;
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      // Who goes on after a cut finds the call without an end.
      if (signal.aborted) throw signal.reason;
      await endJudge(deps, attempt, { number, model, used: error.cut, gaveUp: true });
      const waitMs = waitOf(error, tries);
      if (waitMs === null) return error;
      await sleep(waitMs, undefined, { signal });
    }
  }
}

interface JudgeRequest {
  readonly system: string;
  readonly user: string;
  readonly maxOutputTokens: number;
  readonly script: string | null;
}

async function requestOf(deps: Deps, { attempt, evidence }: Case, { model, statements }: Asked): Promise<JudgeRequest> {
  const script = model.provider === 'scripted' ? await readRunFile(deps, attempt, SCRIPT) : null;
  if (model.provider === 'scripted' && script === null)
    throw new JudgeFailed(`the scripted provider judges nothing by itself: write what it says into ${SCRIPT}`);
  return {
    ...judgePrompt(evidence, statements, randomBytes(12).toString('hex')),
    maxOutputTokens: OUTPUT_TOKENS + OUTPUT_TOKENS_EACH * statements.length,
    script: script && new TextDecoder().decode(script.content),
  };
}

async function call(
  deps: Deps,
  { attempt, signal }: Case,
  request: JudgeRequest & Pick<Asked, 'model' | 'number'> & { readonly tries: number },
): Promise<ModelReply> {
  const { model, number, system, user, maxOutputTokens, script, tries } = request;
  return deps.models.call({
    model,
    system,
    messages: [{ role: 'user', text: user }],
    tools: [],
    temperature: 0,
    maxOutputTokens,
    schema: VERDICTS,
    idempotencyKey: [attempt.evalRunId, attempt.k, 'judge', number, model.name, tries].join('/'),
    script: { yaml: script, agent: 'judge', step: 'judge', round: 1, turn: 0, attempt: tries },
    signal,
  });
}

function waitOf({ kind, retryAfterMs }: ModelError, tries: number): number | null {
  if ((kind !== 'overloaded' && kind !== 'transient') || tries === TRIES) return null;
  const wait = retryAfterMs ?? 500 * 2 ** (tries - 1);
  return wait > LONGEST_WAIT_MS ? null : wait;
}

/** The sentence of a judge that failed; null for what is no failure of its own. */
export function judgeFault(error: unknown): string | null {
  if (error instanceof JudgeFailed || error instanceof BadVerdict) return `the judge failed: ${error.message}`;
  const isRefused = error instanceof Refusal && (error.kind === 'refused' || error.kind === 'out_of_credit');
  return isRefused ? `the judge failed: ${errorMessage(error)}` : null;
}
