import type { Health } from '../contract/health.js';
import { WORKER_LIVES } from '../db/index.js';
import type { Deps } from '../deps.js';
import type { EndpointHealth } from '../models/contract.js';
import { endpointsTold, joinEndpoints } from './endpoints.js';

/** Each part is asked by itself and has this long: one that hangs is down, and does not hold up the others. */
const LIMIT_MS = 1_500;

interface WorkerRow {
  readonly sandbox: string;
  /** What the worker knew of its models' endpoints at its last beat. */
  readonly models: readonly EndpointHealth[];
}

/** How each part is now. Never throws. */
export async function checkHealth(deps: Deps): Promise<Health> {
  const [database, temporal, workers] = await Promise.all([
    within(deps.db.ping(), false),
    within(deps.workflows.ping(), false),
    within(aliveWorkers(deps), []),
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
    ...endpointsTold(endpointsOf(deps, workers)),
    sandbox: sandboxOf(deps, workers),
  };
}

/** Programs run where the workers are: an API on its own tells what they told. */
function sandboxOf(deps: Deps, workers: readonly WorkerRow[]): Health['sandbox'] {
  const [worker] = workers;
  if (deps.config.role === 'api' && worker) return { driver: worker.sandbox, reason: null };
  return { driver: deps.sandbox.driver, reason: deps.sandbox.reason };
}

/** A worker in this process is asked directly: what it wrote at its last beat may be over. */
function endpointsOf({ config, models }: Deps, workers: readonly WorkerRow[]): readonly EndpointHealth[] {
  const told = config.role === 'all' && workers.length <= 1 ? [] : workers.map((worker) => worker.models);
  return joinEndpoints([models.failing(), ...told]);
}

function aliveWorkers(deps: Deps): Promise<WorkerRow[]> {
  return deps.db.query<WorkerRow>({
    name: 'living-workers',
    text: `SELECT sandbox, models FROM worker_seen WHERE ${WORKER_LIVES} ORDER BY seen_at DESC`,
  });
}

async function within<T>(work: Promise<T>, otherwise: T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<T>((resolve) => {
    timer = setTimeout(resolve, LIMIT_MS, otherwise);
  });
  try {
    return await Promise.race([work.catch(() => otherwise), late]);
  } finally {
    clearTimeout(timer);
  }
}
