export interface Silence {
  /** Aborts when nothing of an answer was heard for as long as was given. */
  readonly signal: AbortSignal;
  /** What was not heard, and for how long; null while all is well. */
  readonly why: () => string | null;
  /** A part of the answer was heard: the wait begins anew. */
  readonly heard: () => void;
  /** A sign of life without content, which lengthens no wait: a server can send those for ever. */
  readonly alive: () => void;
  end(): void;
}

/** Watches a call for silence. The wait begins with the first that is heard. */
export function createSilence(idleMs: number): Silence {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let ended = false;
  let isAlive = false;
  return {
    signal: controller.signal,
    why: () => {
      if (!controller.signal.aborted) return null;
      return `sent nothing${isAlive ? ' but signs of life' : ''} for ${idleMs / 1_000} s`;
    },
    heard: () => {
      isAlive = false;
      clearTimeout(timer);
      if (!ended) timer = setTimeout(() => controller.abort(), idleMs);
    },
    alive: () => {
      isAlive = true;
    },
    end: () => {
      ended = true;
      clearTimeout(timer);
    },
  };
}
