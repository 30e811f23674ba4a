import { TOO_LONG } from '../clocks/end-overdue.js';
import { StepFailure } from '../errors.js';
import type { Doer, Done } from '../steps/kinds.js';
import { judgeAnswer, refuseFiltered } from './answer.js';
import { settleAllInterrupted } from './call-model.js';
import { nextTurn } from './compaction/next-turn.js';
import { openSession } from './open-session.js';
import { runTools } from './run-tools.js';
import { addMessage, type Session } from './session.js';
import { recordFileEvents, storeFiles } from './store-files.js';

/** Runs an agent's turns until it has answered: a model call, then all its tool calls in parallel, and so on. */
export const runAgentDoer: Doer = async (lane, step, state) => {
  const session = await openSession(lane, step, state);
  state.isNew = false;
  try {
    return await converse(session);
  } catch (error) {
    const failure = session.timedOut() ? new StepFailure(TOO_LONG, 'timeout') : error;
    // Store the files of a failed step for inspection, and do not leave them for the lane's next agent.
    if (failure instanceof StepFailure) recordFileEvents(session, await storeFiles(session));
    throw failure;
  } finally {
    await session.close();
  }
};

async function converse(session: Session): Promise<Done> {
  const { lane } = session;
  for (;;) {
    if (session.timedOut()) {
      settleAllInterrupted(session);
      throw session.signal.reason;
    }
    const last = session.messages.at(-1);
    if (last?.role === 'assistant') {
      refuseFiltered(last);
      if (last.calls.length > 0) {
        const stop = await runTools(session, last);
        if (stop) return { kind: 'stop', stop };
      } else {
        const verdict = judgeAnswer(session, last);
        if (verdict.kind === 'done') return finish(session, verdict);
        addMessage(session, { role: 'user', text: verdict.text, why: verdict.why });
      }
    }
    if (lane.leaving()) {
      await lane.writer.flush();
      return { kind: 'stop', stop: { kind: 'again' } };
    }
    const stop = await nextTurn(session);
    if (stop) return { kind: 'stop', stop };
  }
}

async function finish(session: Session, answer: Extract<Done, { kind: 'done' }>): Promise<Done> {
  const { lane } = session;
  if (session.hasFolder()) {
    // The last call is paid for: make it durable while the step's files are stored.
    lane.writer.flushSoon();
    recordFileEvents(session, await storeFiles(session));
  }
  return answer;
}
