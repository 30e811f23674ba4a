import { failpoint } from '../../../shared/failpoint.js';
import type { Stop } from '../../../workflows/contract.js';
import { ContextOverflow } from '../../errors.js';
import { callModel } from '../call-model.js';
import { addMessage, type Entry, type Session, turnsOf } from '../session.js';
import { newestSigns } from '../stuck.js';
import { compacted, type MarkerEntry, markerText } from './marker.js';
import { type CompactionPlan, planCompaction } from './plan.js';
import { fixedTokens, guessContext, measureContext } from './size.js';
import { plainSummary, summarySession, turnsIn } from './summary-session.js';

/** Share of a model's context that may be full before older turns are compacted. */
const FULL = 0.8;
/** Share of the model's context that a summary may read of the old turns. */
const RECORD = 0.5;

/**
 * Compacts the transcript when the next call would fill more than 80 % of the model's context, or when a provider has
 * refused it as too long (`overflow`). `made` is false when there is nothing to gain. A stop is a wait for the provider
 * that writes the summary, or for budget that other lanes have reserved.
 */
export async function makeRoom(
  session: Session,
  overflow: ContextOverflow | null = null,
): Promise<{ readonly made: boolean; readonly stop: Stop | null }> {
  const [model] = session.models;
  const turn = turnsOf(session);
  if (!model || turn >= session.agent.maxTurns) return { made: false, stop: null };
  const { contextTokens } = overflow?.model ?? model;
  const limit = limitOf(session, contextTokens);
  const measured = measureContext(session);
  if (!overflow && measured.tokens <= limit) return { made: false, stop: null };
  // The provider's count wins over the estimate: a call that it refused is longer than the context.
  const least = overflow ? contextTokens / Math.max(1, guessContext(session)) : 0;
  const factor = Math.max(measured.factor, least);
  const plan = planCompaction({
    entries: session.messages,
    shown: session.past,
    fixed: fixedTokens(session),
    limit,
    factor,
  });
  if (!plan) return { made: false, stop: null };
  const summary = await summaryOf(session, plan, Math.floor((contextTokens * RECORD) / factor));
  if ('stop' in summary) return { made: false, stop: summary.stop };
  failpoint('compaction-answered');
  const from = overflow ? Math.max(measured.tokens, contextTokens) : measured.tokens;
  startEpoch(session, plan, { text: summary.text, factor, from, overflowAt: overflow ? turn : null });
  return { made: true, stop: null };
}

/** The answer has to fit too: an agent with long answers leaves less for the transcript. */
function limitOf({ agent }: Session, context: number): number {
  const { maxOutputTokens } = agent.config;
  const answer = typeof maxOutputTokens === 'number' ? context - maxOutputTokens : context;
  return Math.max(context * 0.3, Math.min(context * FULL, answer));
}

async function summaryOf(
  session: Session,
  { old, summaryTokens }: CompactionPlan,
  room: number,
): Promise<{ readonly text: string } | { readonly stop: Stop }> {
  const [first] = session.messages;
  if (old.length === 0) return { text: first?.why === 'compacted' && first.role === 'user' ? first.text : '' };
  const asked = summarySession(session, old, { tokens: summaryTokens, room });
  try {
    const stop = await callModel(asked);
    if (stop) return { stop };
  } catch (error) {
    // A summary without a model is poorer, but better than a failed step.
    if (!(error instanceof ContextOverflow)) throw error;
  }
  const answer = asked.messages.at(-1);
  const text = answer?.role === 'assistant' && answer.filtered === undefined ? answer.text.trim() : '';
  // The prompt asks for half its tokens in words. A longer answer is cut, or the summary would fill the room that it
  // should free.
  return { text: markerText((text || plainSummary(old)).slice(0, summaryTokens * 3)) };
}

interface EpochStart {
  readonly text: string;
  readonly factor: number;
  readonly from: number;
  readonly overflowAt: number | null;
}

/** Starts the next epoch: its first row is in the same write as the end of the summary's call. */
function startEpoch(
  session: Session,
  { shown, old }: CompactionPlan,
  { text, factor, from, overflowAt }: EpochStart,
): void {
  const { past, messages, lane, state } = session;
  const kept = old.length;
  const marker = {
    ...shown,
    turns: past.turns + turnsIn(old),
    counts: {
      repair: past.counts.repair + countWhy(old, 'repair'),
      nudge: past.counts.nudge + countWhy(old, 'nudge'),
    },
    trail: kept === 0 ? past.trail : newestSigns({ ...session, messages: messages.slice(0, kept) }),
    factor,
    overflowAt,
  };
  session.past = { ...marker, epoch: past.epoch + 1, since: session.nextSeq };
  const before = messages.slice();
  addMessage(session, { role: 'user', text, why: 'compacted', past: marker } as MarkerEntry);
  const { past: _past, ...summary } = messages.at(-1) as MarkerEntry;
  messages.splice(0, messages.length, ...compacted(summary, before, shown));
  lane.writer.event('context.compacted', {
    step: session.step.id,
    item: state.item,
    round: state.round,
    turn: turnsOf(session),
    epoch: session.past.epoch,
    from,
    to: Math.ceil(guessContext(session) * factor),
  });
}

function countWhy(entries: readonly Entry[], why: 'repair' | 'nudge'): number {
  return entries.filter((entry) => entry.why === why).length;
}
