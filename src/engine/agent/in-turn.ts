interface Waiting {
  readonly rank: number;
  readonly go: () => void;
}

/** One line a process: what stands in it is under suspicion of ending the process. */
const line: Waiting[] = [];
let isBusy = false;

/** Does the work while no other work given to this function is under way in this process; the lowest rank goes first. */
export async function inTurn<T>(rank: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  if (isBusy) await turnOf(rank, signal);
  isBusy = true;
  try {
    return await work();
  } finally {
    callNext();
  }
}

function turnOf(rank: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const waiting = { rank, go: done };
    line.push(waiting);
    signal.addEventListener('abort', leave, { once: true });
    function done(): void {
      signal.removeEventListener('abort', leave);
      resolve();
    }
    function leave(): void {
      line.splice(line.indexOf(waiting), 1);
      reject(signal.reason);
    }
  });
}

function callNext(): void {
  const [next] = [...line].sort((a, b) => a.rank - b.rank);
  if (next === undefined) {
    isBusy = false;
    return;
  }
  line.splice(line.indexOf(next), 1);
  // The place goes straight to the next in line, so that nothing slips in between.
  next.go();
}
