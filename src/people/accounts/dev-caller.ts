import type { Deps } from '../../deps.js';
import { foldName } from '../../shared/ids.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';

/** The owner of the bootstrap account, for SERVICE_DEV_NO_AUTH on loopback. */
export async function devCaller(deps: Deps, address: string | null): Promise<Caller> {
  const tenant = foldName(deps.config.bootstrap.account);
  const [owner] = await deps.db.query<{ id: string; email: string }>({
    name: 'dev-caller',
    text: 'SELECT m.id, m.email FROM tenant t JOIN member m ON m.id = t.owner_id WHERE t.id = $1',
    values: [tenant],
  });
  if (!owner) {
    throw new Refusal(
      'unauthenticated',
      `SERVICE_DEV_NO_AUTH acts as the owner of "${tenant}", which is not there: set SERVICE_BOOTSTRAP_ACCOUNT to the account's name`,
    );
  }
  return {
    tenant,
    role: 'owner',
    workspaces: null,
    actor: { kind: 'person', id: owner.id, label: owner.email },
    person: { id: owner.id, email: owner.email },
    signedIn: true,
    address,
  };
}
