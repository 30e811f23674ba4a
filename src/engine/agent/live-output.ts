import type { ToolContext } from '../../tools/contract.js';
import { deltaSink } from '../rows/deltas.js';
import type { Session } from './session.js';
import { stepReporter } from './step-reporter.js';

/** Maximum streamed output of one call, in UTF-16 code units. The rest is only in the call's result. */
const MAX_STREAMED = 65_536;

export interface LiveOutput extends Pick<Required<ToolContext>, 'onOutput' | 'emit'> {
  end(): Promise<void>;
}

/** The live output of a call: watchers get what its program prints, and preparations become events of the step. */
export function liveOutput(session: Session, at: { readonly turn: number; readonly call: number }): LiveOutput {
  const { lane, step, state } = session;
  const place = { step: step.id, item: state.item, round: state.round };
  const sink = deltaSink(lane.deps.db, { runId: lane.run.id, ...place, ...at }, 'output');
  let left = MAX_STREAMED;
  return {
    onOutput: (chunk) => {
      if (left <= 0) return;
      sink.push(chunk.slice(0, left));
      left -= chunk.length;
      if (left <= 0) sink.push('\n[… what follows is in the result]\n');
    },
    emit: stepReporter(lane, state),
    end: () => sink.end(),
  };
}
