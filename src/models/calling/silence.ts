export interface Silence {
  /** Aborts when nothing was heard for as long as was given. */
  readonly signal: AbortSignal;
  readonly seconds: number;
  /** Something was heard: the wait begins anew. */
  readonly noise: () => void;
  end(): void;
}

/** Watches a stream for silence. The wait begins with the first noise. */
export function createSilence(idleMs: number): Silence {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let ended = false;
  return {
    signal: controller.signal,
    seconds: idleMs / 1_000,
    noise: () => {
      clearTimeout(timer);
      if (!ended) timer = setTimeout(() => controller.abort(), idleMs);
    },
    end: () => {
      ended = true;
      clearTimeout(timer);
    },
  };
}
