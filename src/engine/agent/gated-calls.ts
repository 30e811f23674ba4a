import { createHash } from 'node:crypto';
import type { ToolCall } from '../../models/contract.js';
import { toJson } from '../../shared/exact-json.js';
import { canonicalJson, isRecord, type Json } from '../../shared/json.js';
import { type AgentTool, means } from '../../tools/index.js';
import type { Stop } from '../../workflows/contract.js';
import type { LanePark } from '../journal/claim.js';
import type { GateCall, GateSpec } from '../steps/gate-spec.js';
import { parkOn } from '../steps/park-on.js';
import { refuseCall } from './record-call.js';
import type { Session, TurnCalls } from './session.js';

const SHOWN_CHARACTERS = 4_000;
const ASK_HUMAN = 'ask_human';

/**
 * True for a tool whose calls need approval: `ask_human`, and tools or operations in `approve:`. Calls that an eval's
 * case answers have no effect and need none.
 */
export function isGated(
  approve: readonly string[],
  { ref, spec, canned }: Pick<AgentTool, 'ref' | 'spec' | 'canned'>,
): boolean {
  if (canned) return false;
  return ref === ASK_HUMAN || approve.some((gate) => means(gate, { ref, name: spec.name }));
}

/**
 * Opens one gate for all calls of a turn that need approval, bound to their exact arguments by digest. Approved calls
 * run; for rejected ones the model gets `not approved: <note>`. For `ask_human` the note is the answer.
 */
export async function runGatedCalls(
  session: Session,
  { turn, calls, results }: TurnCalls,
  gated: readonly number[],
): Promise<Stop | { readonly released: readonly number[] }> {
  const { lane, state } = session;
  const asked = gated.flatMap((index) => calls[index] ?? []);
  const parked = await parkOn(lane, state, {
    kind: 'approval',
    mark: `tool.${state.attempts}.${turn}`,
    spec: gateSpec(session, asked) as unknown as Json,
    need: 1,
    timeoutMs: null,
  });
  if ('stop' in parked) return parked.stop;
  const released: number[] = [];
  for (const [position, index] of gated.entries()) {
    const call = calls[index];
    if (!call) continue;
    const refusal = refusalOf(parked.decided, call);
    if (refusal === null && call.name !== ASK_HUMAN) {
      released.push(index);
      continue;
    }
    if (refusal !== null) refuseCall(session, turn, index + 1, { call, why: refusal, isError: false });
    const text = refusal ?? answerOf(parked.decided, questionNumber(asked, position));
    results[index] = { callId: call.id, name: call.name, text, isError: false };
  }
  return { released };
}

/** Why a call is not made; null when exactly this call was approved. */
function refusalOf({ decision, note, digests }: LanePark, call: ToolCall): string | null {
  if (decision !== 'approve') return `not approved: ${note ?? 'no reason was given'}`;
  // Parks of older builds have no digests.
  if (!Array.isArray(digests) || digests.includes(callDigest(call))) return null;
  return 'not approved: these are not the arguments that were approved. Make the call again to ask for approval.';
}

/** The answer to one question: its field of the form if there were several questions, else the note. */
function answerOf({ note, payload }: LanePark, number: number): string {
  const form = isRecord(payload) && isRecord(payload.form) ? payload.form : {};
  const answer = form[fieldOf(number)];
  return typeof answer === 'string' && answer !== '' ? answer : (note ?? 'yes');
}

const fieldOf = (number: number): string => `answer_${number}`;

function questionNumber(asked: readonly ToolCall[], position: number): number {
  return asked.slice(0, position + 1).filter(({ name }) => name === ASK_HUMAN).length;
}

function gateSpec({ step }: Session, asked: readonly ToolCall[]): GateSpec {
  const { n, title } = step;
  const calls = asked.map(gateCall);
  return {
    n,
    title,
    ask: calls.map(({ name, args, question }) => question ?? `${name} ${argsText(args)}`).join('\n'),
    calls,
    approvers: ['human'],
    self: true,
    edit: [],
    form: formOf(calls),
    escalate: null,
  };
}

/** A call as a decider sees it; the digest is of all of it. */
export function gateCall(call: ToolCall): GateCall {
  const text = toJson(call.args);
  const digest = callDigest(call);
  const isLong = text.length > SHOWN_CHARACTERS;
  const args = isLong ? `${text.slice(0, SHOWN_CHARACTERS)}…` : call.args;
  const question = call.name === ASK_HUMAN && isRecord(call.args) ? String(call.args.question ?? '') : undefined;
  return {
    name: call.name,
    args,
    digest,
    ...(isLong ? { characters: text.length } : {}),
    ...(question === undefined ? {} : { question }),
  };
}

function argsText(args: Json): string {
  return typeof args === 'string' ? args : toJson(args);
}

/** SHA-256, hex, of a call's name and all of its arguments. */
export function callDigest({ name, args }: Pick<ToolCall, 'name' | 'args'>): string {
  return createHash('sha256')
    .update(canonicalJson([name, args]))
    .digest('hex');
}

/** Several questions may be answered one by one; without a form the note answers all of them. */
function formOf(calls: readonly GateCall[]): Json {
  const questions = calls.flatMap(({ question }) => question ?? []);
  if (questions.length < 2) return null;
  const fields = questions.map((question, index) => [fieldOf(index + 1), { type: 'string', description: question }]);
  return { type: 'object', properties: Object.fromEntries(fields) as Json, additionalProperties: false };
}
