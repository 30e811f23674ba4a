import type { ModelErrorKind } from '../contract.js';

/** Why a call was abandoned. */
export interface GivenUp {
  /** A predicate whose subject is the provider. */
  readonly brief: string;
  readonly kind: ModelErrorKind;
}

export interface Silence {
  /** Aborts after `idleMs` without a part of an answer, or after `totalMs`. */
  readonly signal: AbortSignal;
  /** Null while the call is alive. */
  readonly why: () => GivenUp | null;
  /** Reports a part of the answer: the wait starts again. */
  readonly noteContent: () => void;
  /** Reports a sign of life without content. It extends no wait, since a server can send those forever. */
  readonly noteAlive: () => void;
  end(): void;
}

export interface Patience {
  /** Maximum time between two events of an answer. */
  readonly idleMs: number;
  /** Maximum time for the whole call. */
  readonly totalMs: number;
}

/** Watches a call for silence, and for its total time. Both timers start with the first event. */
export function createSilence({ idleMs, totalMs }: Patience): Silence {
  const controller = new AbortController();
  let idle: NodeJS.Timeout | undefined;
  let total: NodeJS.Timeout | undefined;
  let ended = false;
  let isAlive = false;
  let why: GivenUp | null = null;
  const giveUp = (reason: GivenUp): void => {
    why ??= reason;
    controller.abort();
  };
  return {
    signal: controller.signal,
    why: () => why,
    noteContent: () => {
      isAlive = false;
      clearTimeout(idle);
      if (ended) return;
      idle = setTimeout(() => {
        giveUp({
          kind: 'transient',
          brief: `sent nothing${isAlive ? ' but signs of life' : ''} for ${idleMs / 1_000} s`,
        });
      }, idleMs);
      // Not transient: a retry of an answer that never ends would not end either.
      total ??= setTimeout(() => {
        giveUp({ kind: 'refused', brief: `did not finish its answer within ${totalMs / 1_000} s` });
      }, totalMs);
    },
    noteAlive: () => {
      isAlive = true;
    },
    end: () => {
      ended = true;
      clearTimeout(idle);
      clearTimeout(total);
    },
  };
}
