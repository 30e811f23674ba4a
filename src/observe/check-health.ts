import type { Health } from '../contract/health.js';
import type { Deps } from '../deps.js';
import type { EndpointHealth } from '../models/contract.js';
import { WORKER_LIVES } from '../platform/db/index.js';
import { within } from '../shared/deadline.js';

/** The time limit of each probe. Probes run in parallel, so one that hangs delays no other. */
const LIMIT_MS = 1_500;

interface WorkerRow {
  readonly sandbox: string;
  /** The model endpoints as of the worker's last heartbeat. */
  readonly models: readonly EndpointHealth[];
}

/** The state of each part. Never throws. */
export async function checkHealth(deps: Deps): Promise<Health> {
  const [database, temporal, workers] = await Promise.all([
    probe(deps.db.ping(), false),
    probe(deps.workflows.ping(), false),
    probe(aliveWorkers(deps), []),
  ]);
  const { version, role } = deps.config;
  return {
    ok: database && temporal,
    version,
    role,
    workerAlive: workers.length > 0,
    database: database ? 'ok' : 'down',
    redis: 'off',
    temporal: temporal ? 'ok' : 'down',
    ...endpointViews(endpointsOf(deps, workers)),
    sandbox: sandboxOf(deps, workers),
  };
}

/** Sandboxes run on the workers, so an API-only process reports a worker's sandbox. */
function sandboxOf(deps: Deps, workers: readonly WorkerRow[]): Health['sandbox'] {
  const [worker] = workers;
  if (deps.config.role === 'api' && worker) return { driver: worker.sandbox, reason: null };
  return { driver: deps.sandbox.driver, reason: deps.sandbox.reason };
}

/** Reads the endpoints of a worker in this process directly, since its last heartbeat may be outdated. */
function endpointsOf({ config, models }: Deps, workers: readonly WorkerRow[]): readonly EndpointHealth[] {
  const reported = config.role === 'all' && workers.length <= 1 ? [] : workers.map((worker) => worker.models);
  return joinEndpoints([models.failing(), ...reported]);
}

function aliveWorkers(deps: Deps): Promise<WorkerRow[]> {
  return deps.db.query<WorkerRow>({
    name: 'living-workers',
    text: `SELECT sandbox, models FROM worker_seen WHERE ${WORKER_LIVES} ORDER BY seen_at DESC`,
  });
}

function probe<T>(work: Promise<T>, otherwise: T): Promise<T> {
  return within(
    work.catch(() => otherwise),
    LIMIT_MS,
    () => otherwise,
  );
}

/** Merges the endpoint states of several processes: open when it is open for one, with the earliest `since`. */
function joinEndpoints(lists: readonly (readonly EndpointHealth[])[]): readonly EndpointHealth[] {
  const joined = new Map<string, EndpointHealth>();
  for (const one of lists.flat()) {
    const other = joined.get(one.endpoint);
    joined.set(one.endpoint, other ? join(other, one) : one);
  }
  return [...joined.values()].sort((a, b) => a.since - b.since);
}

function join(a: EndpointHealth, b: EndpointHealth): EndpointHealth {
  return {
    endpoint: a.endpoint,
    open: a.open || b.open,
    since: Math.min(a.since, b.since),
    until: a.until === null || b.until === null ? (a.until ?? b.until) : Math.max(a.until, b.until),
    lastError: b.open && !a.open ? b.lastError : a.lastError,
  };
}

function endpointViews(endpoints: readonly EndpointHealth[]): Pick<Health, 'circuits' | 'models'> {
  const iso = (ms: number) => new Date(ms).toISOString();
  return {
    circuits: endpoints.flatMap(({ endpoint, until }) =>
      until === null ? [] : [{ provider: endpoint, until: iso(until) }],
    ),
    models: endpoints.map(({ endpoint, open, since, lastError }) => ({ endpoint, open, since: iso(since), lastError })),
  };
}
