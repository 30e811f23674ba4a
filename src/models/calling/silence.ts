import type { ModelErrorKind } from '../contract.js';

/** Why a call was given up. */
export interface GivenUp {
  /** A predicate of the provider. */
  readonly brief: string;
  readonly kind: ModelErrorKind;
}

export interface Silence {
  /** Aborts when nothing of an answer was heard for as long as was given, or the call took its whole time. */
  readonly signal: AbortSignal;
  /** Null while all is well. */
  readonly why: () => GivenUp | null;
  /** A part of the answer was heard: the wait begins anew. */
  readonly heard: () => void;
  /** A sign of life without content, which lengthens no wait: a server can send those for ever. */
  readonly alive: () => void;
  end(): void;
}

export interface Patience {
  /** Between two events of an answer. */
  readonly idleMs: number;
  /** For the whole call. */
  readonly totalMs: number;
}

/** Watches a call for silence, and for its whole time. Both begin with the first that is heard. */
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
    heard: () => {
      isAlive = false;
      clearTimeout(idle);
      if (ended) return;
      idle = setTimeout(() => {
        giveUp({
          kind: 'transient',
          brief: `sent nothing${isAlive ? ' but signs of life' : ''} for ${idleMs / 1_000} s`,
        });
      }, idleMs);
      // A stream that never ends would not end the next time either.
      total ??= setTimeout(() => {
        giveUp({ kind: 'refused', brief: `did not finish its answer within ${totalMs / 1_000} s` });
      }, totalMs);
    },
    alive: () => {
      isAlive = true;
    },
    end: () => {
      ended = true;
      clearTimeout(idle);
      clearTimeout(total);
    },
  };
}
