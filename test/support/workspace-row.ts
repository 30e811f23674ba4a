import type { Deps } from '../../src/deps.js';
import { newId } from '../../src/shared/ids.js';

/** A workspace that is there, with nothing in it, for tests of who may see it; one of that name stays. Answers its id. */
export async function insertWorkspace(deps: Pick<Deps, 'db'>, tenant: string, name: string): Promise<string> {
  const [row] = await deps.db.query<{ id: string }>(
    `INSERT INTO workspace (id, tenant_id, name) VALUES ($1, $2, $3)
     ON CONFLICT (tenant_id, name) DO UPDATE SET name = excluded.name RETURNING id`,
    [newId(), tenant, name],
  );
  if (!row) throw new Error(`the workspace ${name} was not made`);
  return row.id;
}
