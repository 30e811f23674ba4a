export { startBlockWatch } from './block-watch.js';
export type { Db, Sql, SqlQuery } from './contract.js';
export { createDb } from './create-db.js';
export { keepDatabaseClock } from './database-clock.js';
export { type DueRow, forEachDue } from './each-due.js';
export {
  DatabaseBusy,
  DatabaseUnavailable,
  isConnectionLost,
  isContention,
  isUniqueViolation,
  OutcomeUnknown,
} from './errors.js';
export { applyMigrations, FailedMigration, NewerDatabase } from './migrate.js';
export { distDir, packageRoot } from './package-root.js';
export type { DbOptions } from './pool.js';
export { QUEUE_CHANNEL, type Queue, type QueueName, startQueues } from './queues.js';
export { sweepRows } from './sweep-rows.js';
export { ALIVE_MS } from './watched-client.js';
export { lastOf, startWorkerHeartbeat, WORKER_LIVES, type WorkerEntry, watchBuilds } from './worker-register.js';
