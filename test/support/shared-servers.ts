import { newId } from '../../src/shared/ids.js';
import { freshDatabase } from './postgres.js';
import { testTemporal } from './temporal.js';

/** An installation's place on the servers that all tests share, for services that die without them: a database and a task queue of its own. */
export async function sharedServers() {
  const database = await freshDatabase();
  const { address, namespace } = testTemporal();
  return {
    env: {
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      TEMPORAL_TASK_QUEUE: `test-${newId()}`,
    },
    temporal: address,
    drop: database.drop,
  };
}
