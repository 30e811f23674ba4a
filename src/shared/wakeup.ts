/** An event that stays set until it is awaited, so that none is lost between two waits. */
export interface Wakeup {
  set(): void;
  /** Resolves at the event, after `ms`, or when the signal is aborted. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
}

export function createWakeup(): Wakeup {
  let isSet = false;
  let wake: () => void = () => undefined;
  return {
    set: () => {
      isSet = true;
      wake();
    },
    async wait(ms, signal) {
      if (!isSet && signal?.aborted !== true) {
        await new Promise<void>((resolve) => {
          const done = () => {
            clearTimeout(timer);
            signal?.removeEventListener('abort', done);
            resolve();
          };
          const timer = setTimeout(done, ms);
          wake = done;
          signal?.addEventListener('abort', done, { once: true });
        });
      }
      isSet = false;
    },
  };
}
