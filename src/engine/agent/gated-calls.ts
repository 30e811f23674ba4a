import { createHash } from 'node:crypto';
import type { ToolCall } from '../../models/contract.js';
import { canonicalJson, isRecord, type Json } from '../../shared/json.js';
import { type AgentTool, means } from '../../tools/index.js';
import type { Stop } from '../../workflows/contract.js';
import { parkOn } from '../steps/park-on.js';
import type { Session, TurnCalls } from './session.js';

/** True for a tool whose calls a person has to release: `ask_human`, and what `approve:` names, all of it or one operation. */
export function isGated(approve: readonly string[], { ref, spec }: Pick<AgentTool, 'ref' | 'spec'>): boolean {
  return ref === 'ask_human' || approve.some((gate) => means(gate, { ref, name: spec.name }));
}

/**
 * Calls that a person has to release: one park for all of a turn, bound to their exact arguments by digest. Approved,
 * they run; rejected, the model gets `not approved: <note>` and goes on. The note of an `ask_human` is its answer.
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
    spec: gateSpec(session, asked),
    need: 1,
    timeoutMs: null,
  });
  if ('stop' in parked) return parked.stop;
  const { decision, note } = parked.decided;
  const run = gated.filter((index) => decision === 'approve' && calls[index]?.name !== 'ask_human');
  for (const index of gated) {
    const call = calls[index];
    if (!call || run.includes(index)) continue;
    const text =
      call.name === 'ask_human' && decision === 'approve'
        ? (note ?? 'yes')
        : `not approved: ${note ?? 'no reason was given'}`;
    results[index] = { callId: call.id, name: call.name, text, isError: false };
  }
  return { released: run };
}

function gateSpec(session: Session, asked: readonly ToolCall[]): Json {
  const calls = asked.map((call) => ({
    name: call.name,
    args: call.args,
    digest: createHash('sha256')
      .update(canonicalJson([call.name, call.args]))
      .digest('hex'),
  }));
  const ask = asked
    .map((call) => (call.name === 'ask_human' ? questionOf(call) : `${call.name} ${JSON.stringify(call.args)}`))
    .join('\n');
  const { n, title } = session.step;
  return {
    n,
    title,
    ask,
    calls,
    approvers: ['human'],
    self: true,
    edit: [],
    form: null,
    escalate: null,
  } as unknown as Json;
}

function questionOf(call: ToolCall): string {
  return isRecord(call.args) ? String(call.args.question ?? '') : '';
}
