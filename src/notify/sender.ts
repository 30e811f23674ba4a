import type { Deps } from '../deps.js';
import { claimNotification, deliver, type NotificationRow } from './deliver.js';

export interface Sender {
  /** Begins to send what is due, as far as there is room for it; answers how many it began. */
  start(): Promise<number>;
  /** Resolves when nothing is being sent. */
  idle(): Promise<void>;
  /** Begins nothing more; resolves when nothing is being sent. */
  end(): Promise<void>;
}

/** Sent at once, by one process: in all, for one account, and to one target. */
const MOST = { all: 24, tenant: 8, target: 2 } as const;

/**
 * Sends what is due, each as soon as there is room: a receiver that does not answer holds up itself, and a whole account
 * of them no other account.
 */
export function createSender(deps: Deps): Sender {
  const lanes = new Set<Promise<void>>();
  const busy = { tenant: new Map<string, number>(), target: new Map<string, number>() };
  let claims: Promise<unknown> = Promise.resolve();
  let ended = false;

  /** One after the other: each is to know what those before it took. */
  const claim = (): Promise<NotificationRow | null> => {
    const claimed = claims.then(async () => {
      if (ended) return null;
      const row = await claimNotification(deps, {
        tenants: fullOf(busy.tenant, MOST.tenant),
        targets: fullOf(busy.target, MOST.target),
      });
      if (row) mark(busy, row, 1);
      return row;
    });
    claims = claimed.catch(() => undefined);
    return claimed;
  };

  const runLane = async (first: NotificationRow): Promise<void> => {
    for (let row: NotificationRow | null = first; row !== null; row = await claim()) {
      await deliver(deps, row).finally(() => mark(busy, row as NotificationRow, -1));
    }
  };

  const idle = async (): Promise<void> => {
    while (lanes.size > 0) await Promise.all(lanes);
  };

  return {
    start: async () => {
      let count = 0;
      while (lanes.size < MOST.all) {
        const row = await claim();
        if (!row) break;
        count += 1;
        // What a lane fails at is due again when its lease is over, and the next round begins another lane.
        const lane = runLane(row).catch((error: unknown) =>
          deps.log.warn({ err: error }, 'a notification waits for its next try'),
        );
        const ending = lane.finally(() => lanes.delete(ending));
        lanes.add(ending);
      }
      return count;
    },
    idle,
    end: async () => {
      ended = true;
      await idle();
    },
  };
}

type Counts = Map<string, number>;

function fullOf(counts: Counts, most: number): readonly string[] {
  return [...counts].filter(([, count]) => count >= most).map(([name]) => name);
}

function mark({ tenant, target }: { tenant: Counts; target: Counts }, row: NotificationRow, by: number): void {
  for (const [counts, name] of [[tenant, row.tenantId] as const, [target, row.target] as const]) {
    const count = (counts.get(name) ?? 0) + by;
    if (count > 0) counts.set(name, count);
    else counts.delete(name);
  }
}
