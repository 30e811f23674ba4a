import { newId } from '../../src/shared/ids.js';
import { freshDatabase } from './postgres.js';
import { reportDeaths } from './report-deaths.js';
import { testTemporal } from './temporal.js';

/** An installation's place on the servers that all tests share, for services that die without them: a database and a task queue of its own. */
export async function sharedServers() {
  const database = await freshDatabase();
  const { address, namespace } = testTemporal();
  const taskQueue = `test-${newId()}`;
  return {
    env: {
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      TEMPORAL_TASK_QUEUE: taskQueue,
    },
    temporal: address,
    /** After a kill -9: what the dead process was at is retried at once. */
    reportDeaths: () => reportDeaths({ address, namespace, taskQueue }),
    drop: database.drop,
  };
}
