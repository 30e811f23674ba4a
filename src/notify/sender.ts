import type { Deps } from '../deps.js';
import { type ClaimedNotification, claimNotification, deliver } from './deliver.js';

export interface Sender {
  /** Starts due deliveries while there is capacity. Returns how many it started. Once the signal is aborted none starts. */
  start(signal?: AbortSignal): Promise<number>;
  /** Resolves when no delivery is running. */
  idle(): Promise<void>;
}

/** Concurrent deliveries per process: in all, per account and per target. */
const MOST = { all: 24, tenant: 8, target: 2 } as const;

/**
 * Sends due notifications concurrently. A receiver that does not answer delays only its own notifications, and an
 * account's slow receivers delay no other account.
 */
export function createSender(deps: Deps): Sender {
  const lanes = new Set<Promise<void>>();
  const busy = { tenant: new Map<string, number>(), target: new Map<string, number>() };
  let claims: Promise<unknown> = Promise.resolve();

  /** Claims one notification at a time, so that each claim counts those before it. */
  const claim = (signal?: AbortSignal): Promise<ClaimedNotification | null> => {
    const claimed = claims.then(async () => {
      if (signal?.aborted) return null;
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

  const runLane = async (first: ClaimedNotification, signal?: AbortSignal): Promise<void> => {
    for (let row: ClaimedNotification | null = first; row !== null; row = await claim(signal)) {
      await deliver(deps, row).finally(() => mark(busy, row as ClaimedNotification, -1));
    }
  };

  const idle = async (): Promise<void> => {
    while (lanes.size > 0) await Promise.all(lanes);
  };

  return {
    start: async (signal) => {
      let count = 0;
      while (lanes.size < MOST.all) {
        const row = await claim(signal);
        if (!row) break;
        count += 1;
        // A failed delivery is due again when its lease expires.
        const lane = runLane(row, signal).catch((error: unknown) =>
          deps.log.warn({ err: error }, 'notification delivery failed, will retry'),
        );
        const ending = lane.finally(() => lanes.delete(ending));
        lanes.add(ending);
      }
      return count;
    },
    idle,
  };
}

type Counts = Map<string, number>;

function fullOf(counts: Counts, most: number): readonly string[] {
  return [...counts].filter(([, count]) => count >= most).map(([name]) => name);
}

function mark({ tenant, target }: { tenant: Counts; target: Counts }, row: ClaimedNotification, by: number): void {
  for (const [counts, name] of [[tenant, row.tenantId] as const, [target, row.target] as const]) {
    const count = (counts.get(name) ?? 0) + by;
    if (count > 0) counts.set(name, count);
    else counts.delete(name);
  }
}
