import type { KeyBody, Minted } from '../../contract/keys.js';
import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { Refusal } from '../../shared/refusal.js';
import { atLeast, type Caller } from '../../shared/roles.js';
import { audit } from '../accounts/audit.js';
import { mintKey } from '../accounts/mint-key.js';
import { findWorkspace } from '../find-workspace.js';
import { requireNoPreview } from '../of-preview.js';
import { requireOwnTenant } from './find-tenant.js';
import { KEY_COLUMNS, type KeyRow, keyView } from './key-view.js';

export interface CreateKeyInput {
  readonly label: string;
  readonly tenant?: string | undefined;
  readonly role?: KeyBody['role'] | undefined;
  readonly workspace?: string | undefined;
  readonly access?: 'read' | 'write' | undefined;
  readonly expiresAt?: string | undefined;
}

/** The role that a deploy key's access maps to. */
const DEPLOY_ROLES = { read: 'viewer', write: 'editor' } as const;

/** Mints a key. The response is the only place where the key appears: the database has its hash. */
export async function createKey(deps: Deps, caller: Caller, input: CreateKeyInput): Promise<Minted> {
  requireOwnTenant(caller, input.tenant);
  const expiresAt = input.expiresAt === undefined ? null : new Date(input.expiresAt);
  if (expiresAt && expiresAt.getTime() <= deps.clock.now())
    throw new Refusal('refused', 'expiresAt: this time is in the past; give a future time, or leave it out');
  return deps.db.transaction(async (sql) => {
    const deploy = await deployOf(sql, caller, input);
    const role = deploy ? DEPLOY_ROLES[deploy.access] : (input.role ?? 'editor');
    if (!atLeast(caller.role, role)) throw new Refusal('forbidden', `needs role ${role}`, { need: role });
    const { id, key } = await mintKey(sql, {
      tenant: caller.tenant,
      label: input.label,
      role,
      mintedBy: caller.person,
      ...(deploy && { deploy }),
      ...(expiresAt && { expiresAt }),
    });
    const detail = { label: input.label, role, expiresAt, workspace: input.workspace, access: input.access };
    await audit(sql, caller, 'key.mint', id, detail);
    const [row] = await sql.query<KeyRow>(`SELECT ${KEY_COLUMNS} WHERE k.id = $1`, [id]);
    if (!row) throw new Error('the key was not written');
    return { ...keyView(row), key };
  });
}

async function deployOf(sql: Sql, caller: Caller, { workspace, access, role }: CreateKeyInput) {
  if (workspace === undefined && access === undefined) return null;
  if (workspace === undefined)
    throw new Refusal('refused', 'workspace: a deploy key needs a workspace as well as access');
  const { id } = await findWorkspace(sql, caller, workspace);
  await requireNoPreview(sql, id, 'keys');
  if (access === undefined)
    throw new Refusal('refused', 'access: a deploy key needs read or write as well as its workspace');
  if (role !== undefined) throw new Refusal('refused', 'role: a deploy key has access instead; leave role out');
  return { workspace: id, access };
}
