import type { Deps } from '../../src/deps.js';
import { newId } from '../../src/shared/ids.js';

/** A workspace that is there, with nothing in it: for tests of who may see it. Answers its id. */
export async function insertWorkspace(deps: Pick<Deps, 'db'>, tenant: string, name: string): Promise<string> {
  const id = newId();
  await deps.db.query('INSERT INTO workspace (id, tenant_id, name) VALUES ($1, $2, $3)', [id, tenant, name]);
  return id;
}
