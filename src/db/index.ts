export type { Db, Sql, SqlQuery } from './contract.js';
export { createDb } from './create-db.js';
export { keepDatabaseClock } from './database-clock.js';
export { DatabaseBusy, DatabaseUnavailable, isConnectionLost, isContention, isUniqueViolation } from './errors.js';
export { applyMigrations, NewerDatabase } from './migrate.js';
export { distDir, packageRoot } from './package-root.js';
export { ALIVE_MS, type DbOptions } from './pool.js';
export { sweepRows } from './sweep-rows.js';
export { keepWorkerSeen, lastOf, WORKER_LIVES, type WorkerEntry } from './worker-register.js';
