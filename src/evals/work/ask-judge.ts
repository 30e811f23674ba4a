import { randomBytes } from 'node:crypto';
import { readRunFile } from '../../content/index.js';
import type { Deps } from '../../deps.js';
import {
  assertNotPoison,
  type FailedModel,
  IN_PLACE_TRIES,
  judgeFailures,
  NO_DEATHS,
  Poison,
  waitInPlace,
  whenSafe,
} from '../../engine/index.js';
import type { Plan } from '../../format/index.js';
import { ModelError, type ModelReply, type ResolvedModel } from '../../models/contract.js';
import { sleep } from '../../shared/deadline.js';
import { failpoint } from '../../shared/failpoint.js';
import { errorMessage, Refusal } from '../../shared/refusal.js';
import type { CaseEvidence, Finding } from '../grade/evidence.js';
import type { Statement } from '../grade/grade-case.js';
import { judgePrompt, VERDICTS } from '../grade/judge-prompt.js';
import { BadVerdict, readVerdicts } from '../grade/read-verdicts.js';
import type { AttemptRow } from './attempt-row.js';
import {
  abandonJudgeCall,
  endJudgeCall,
  JudgeFailed,
  openJudgeCall,
  postponeJudgeCall,
  startJudgeCall,
} from './judge-books.js';
import { JudgePostponed, type OpenCall } from './judge-call.js';

/** Tolerance for a timer that fires a moment early. */
const EARLY_MS = 250;
/** How often a suspect call asks for its turn. */
const TURN_POLL_MS = 2_000;
const OUTPUT_TOKENS = 600;
const OUTPUT_TOKENS_EACH = 300;
const CHARACTERS_A_TOKEN = 3;
/** The script of the judge on the scripted provider. */
const SCRIPT = 'agents/judge/script.yaml';

interface Case {
  readonly attempt: AttemptRow;
  readonly plan: Plan;
  readonly evidence: CaseEvidence;
  readonly signal: AbortSignal;
}

/**
 * The judge's findings on a case's statements, by index: one call for all statements of one model. Throws JudgeFailed
 * or BadVerdict when the answer does not count, and JudgePostponed when the call must wait. A recorded answer is used again.
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
  const open = await openJudgeCall(deps, at.attempt, question.number);
  if (typeof open === 'string') return open;
  assertNotPoison(open.deaths, { call: 'one call of the judge', cure: 'run the eval again' });
  const leftMs = (open.notBefore ?? 0) - deps.clock.now();
  if (leftMs > EARLY_MS) throw new JudgePostponed(leftMs, 'its model fails with transient errors');
  const { evalRunId, k } = at.attempt;
  const wait = () =>
    Promise.reject(new JudgePostponed(TURN_POLL_MS, 'calls that may end their worker are made one at a time'));
  const suspect = { deaths: open.deaths, key: `${evalRunId}/${k}`, againInMs: TURN_POLL_MS, wait };
  return whenSafe(suspect, () => askModels(deps, at, { ...question, open }));
}

interface Open extends Question {
  readonly open: OpenCall;
}

async function askModels(deps: Deps, at: Case, question: Open): Promise<string> {
  const models = deps.models.resolve(question.name, at.plan.workspace.models);
  const failed: FailedModel[] = [];
  for (const [place, model] of models.entries()) {
    const answer = await askModel(deps, at, { ...question, model, hasNext: place + 1 < models.length });
    if (typeof answer === 'string') return answer;
    failed.push({ model, error: answer });
    if (answer.ours) break;
  }
  if (failed.length === 0) throw new JudgeFailed('no model is configured');
  return waitOrFail(deps, at, { failed, open: question.open });
}

/** No model answered: waits out transient failures, as long as a call of a run would. */
async function waitOrFail(
  deps: Deps,
  { attempt }: Case,
  { failed, open }: { readonly failed: readonly FailedModel[]; readonly open: OpenCall },
): Promise<never> {
  const nowMs = deps.clock.now();
  const end = judgeFailures(failed, { waited: open.waited, nowMs, boundMs: deps.models.waitMs });
  if (end.kind !== 'later') throw new JudgeFailed(end.error);
  const { waitMs, waited, error } = end;
  await postponeJudgeCall(deps, attempt, { number: open.number, deaths: NO_DEATHS, waited, notBefore: nowMs + waitMs });
  throw new JudgePostponed(waitMs, error);
}

interface Asked extends Open {
  readonly model: ResolvedModel;
  readonly hasNext: boolean;
}

async function askModel(deps: Deps, at: Case, asked: Asked): Promise<string | ModelError> {
  const { attempt, signal } = at;
  const { number, model, open } = asked;
  const request = await requestOf(deps, at, asked);
  const inputTokens = Math.ceil((request.system.length + request.user.length) / CHARACTERS_A_TOKEN);
  const price = model.price ?? { input: 0, output: 0 };
  const needNano = BigInt(Math.ceil(inputTokens * price.input + request.maxOutputTokens * price.output));
  for (let tries = 1; ; tries += 1) {
    signal.throwIfAborted();
    const begun = await startJudgeCall(deps, attempt, { ...open, model, needNano });
    if ('said' in begun) return begun.said;
    const { start } = begun;
    failpoint('judge-asked');
    try {
      const n = open.waited.waits * IN_PLACE_TRIES + tries;
      const reply = await call(deps, at, { ...request, model, number, tries: n });
      failpoint('judge-answered');
      await endJudgeCall(deps, attempt, { start, model, used: reply, number, said: reply.text });
      return reply.text;
    } catch (error) {
      if (signal.aborted) {
        await abandonJudgeCall(deps, attempt, { ...open, start }).catch(() => undefined);
        throw signal.reason;
      }
      if (!(error instanceof ModelError)) throw error;
      await endJudgeCall(deps, attempt, { start, model, used: error.cut, open: { ...open, deaths: NO_DEATHS } });
      const waitMs = waitInPlace(error, tries);
      if (waitMs === null || (error.circuit && asked.hasNext)) return error;
      await sleep(waitMs, signal);
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

/** The sentence for a judge's failure; null for other errors. */
export function judgeFault(error: unknown): string | null {
  const isOwn = error instanceof JudgeFailed || error instanceof BadVerdict || error instanceof Poison;
  if (isOwn) return `the judge failed: ${error.message}`;
  const isRefused = error instanceof Refusal && (error.kind === 'refused' || error.kind === 'out_of_credit');
  return isRefused ? `the judge failed: ${errorMessage(error)}` : null;
}
