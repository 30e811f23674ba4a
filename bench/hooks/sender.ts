import { setTimeout as wait } from 'node:timers/promises';

/** The final answer that a sender got. */
export interface Answer {
  readonly id: string;
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** When the first request left, by `performance.now()`. */
  readonly at: number;
  /** Of the request that was answered. */
  readonly ms: number;
  /** From the first request on. */
  readonly wholeMs: number;
}

/** Senders give up on an answer after so long, and send the delivery again. */
const PATIENCE_MS = 10_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 4_000;

/** A system that sends deliveries as providers do: it retries under the same id until one is accepted. */
export class Sender {
  readonly answers: Answer[] = [];
  /** Requests that got no answer: a connection that broke, was refused, or was silent. */
  broken = 0;
  /** Requests that were answered with "try again later". */
  postponed = 0;

  constructor(private readonly url: string) {}

  async send(id: string, body: object): Promise<void> {
    const began = performance.now();
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      const since = performance.now();
      const response = await this.ask(id, body);
      if (response === null) this.broken += 1;
      else if (response.status >= 500 || response.status === 429) this.postponed += 1;
      else {
        const now = performance.now();
        this.answers.push({ id, ...response, at: began, ms: now - since, wholeMs: now - began });
        return;
      }
      await wait(pause);
    }
  }

  private async ask(id: string, body: object): Promise<Pick<Answer, 'status' | 'body'> | null> {
    try {
      const response = await fetch(this.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'webhook-id': id },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      return { status: response.status, body: (await response.json()) as Answer['body'] };
    } catch {
      return null;
    }
  }
}

/** Ids in the order in which they are sent: of ten one comes twice at once, and one again after a while. */
export function idsOf(count: number): readonly string[] {
  const name = (n: number): string => `d-${n}`;
  return Array.from({ length: count }, (_, n) => {
    if (n % 10 === 5) return name(n - 1);
    return n % 10 === 9 ? name(Math.max(0, n - 109)) : name(n);
  });
}

/** Starts `work` so often a minute, whether or not the ones before have ended; resolves with the last. */
export async function steadily(
  { rate, count }: { readonly rate: number; readonly count: number },
  work: (n: number) => Promise<void>,
): Promise<void> {
  const began = performance.now();
  const all: Promise<void>[] = [];
  for (let n = 0; n < count; n += 1) {
    const due = began + (n * 60_000) / rate;
    if (due > performance.now()) await wait(due - performance.now());
    all.push(work(n));
  }
  await Promise.all(all);
}
