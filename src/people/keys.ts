import type { KeyBody, KeyList, Minted } from '../contract/keys.js';
import type { Deps } from '../deps.js';
import type { Sql, TableRow } from '../platform/db/contract.js';
import { keyCursors } from '../shared/cursor.js';
import { notFound, Refusal } from '../shared/refusal.js';
import { atLeast, type Caller } from '../shared/roles.js';
import { mintKey } from './accounts/api-keys.js';
import { audit } from './accounts/audit.js';
import { findWorkspace, requireNoPreview } from './find-workspace.js';

const KEY_COLUMNS = `k.id, k.label, k.tenant_id AS tenant, k.role, k.prefix, k.minted_by AS "mintedBy",
  k.created_at AS "createdAt", k.last_used_at AS "lastUsedAt", k.expires_at AS "expiresAt", w.name AS workspace, k.access
  FROM api_key k LEFT JOIN workspace w ON w.id = k.workspace`;

/**
 * SQL, with `k`, its workspace `w`, its account `t` and its minter `m`: the names of the workspaces that a key can
 * access, by its own scope or by its minter's; null means all of them.
 */
const KEY_REACH = `CASE WHEN k.workspace IS NOT NULL THEN ARRAY[w.name]
  WHEN m.id IS NULL OR t.owner_id = m.id OR m.all_workspaces THEN NULL ELSE m.workspaces END`;

/** SQL: the account and the minter of a key, beside `api_key k`. */
const KEY_OWNERS = `JOIN tenant t ON t.id = k.tenant_id
  LEFT JOIN member m ON m.id = k.minted_by_id AND m.tenant_id = k.tenant_id`;

interface CreateKeyInput {
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
    const [row] = await sql.query<ListedKey>(`SELECT ${KEY_COLUMNS} WHERE k.id = $1`, [id]);
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

const cursors = keyCursors('keys');

interface ListKeysInput {
  readonly tenant?: string | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/**
 * The keys that were not revoked, newest first, including expired ones. A caller whose access is limited to some
 * workspaces sees only the keys that are limited to these.
 */
export async function listKeys(deps: Pick<Deps, 'db'>, caller: Caller, input: ListKeysInput): Promise<KeyList> {
  requireOwnTenant(caller, input.tenant);
  const rows = await deps.db.query<ListedKey>({
    name: 'list-keys',
    text: `SELECT ${KEY_COLUMNS} ${KEY_OWNERS}
           WHERE k.tenant_id = $1 AND k.revoked_at IS NULL AND ($2::text IS NULL OR k.id < $2)
             AND ($3::text[] IS NULL OR ${KEY_REACH} <@ $3)
           ORDER BY k.id DESC LIMIT $4`,
    values: [caller.tenant, cursors.read(input.cursor), caller.workspaces, input.limit + 1],
  });
  const { page, next } = cursors.page(rows, input.limit, ({ id }) => id);
  return { keys: page.map(keyView), next };
}

/**
 * Revokes a key. Every process refuses it from the next request on, since each request reads the key's row. A caller
 * whose access is limited to some workspaces may revoke only keys limited to these: a key with access to more is
 * refused as forbidden, and one with access to none of them as missing.
 */
export async function revokeKey(
  deps: Pick<Deps, 'db'>,
  caller: Caller,
  input: { readonly id: string; readonly tenant?: string | undefined },
): Promise<{ ok: true; id: string }> {
  requireOwnTenant(caller, input.tenant);
  await deps.db.transaction(async (sql) => {
    const { label } = await findRevocable(sql, caller, input.id);
    await sql.query('UPDATE api_key SET revoked_at = now() WHERE id = $1', [input.id]);
    await audit(sql, caller, 'key.revoke', input.id, { label });
  });
  return { ok: true, id: input.id };
}

async function findRevocable(sql: Sql, caller: Caller, id: string): Promise<{ readonly label: string }> {
  const [key] = await sql.query<{ label: string; reach: string[] | null }>(
    `SELECT k.label, ${KEY_REACH} AS reach FROM api_key k ${KEY_OWNERS} LEFT JOIN workspace w ON w.id = k.workspace
      WHERE k.id = $1 AND k.tenant_id = $2 AND k.revoked_at IS NULL FOR UPDATE OF k`,
    [id, caller.tenant],
  );
  const seen = caller.workspaces;
  if (!key) throw notFound('key');
  const reached = key.reach?.map((name) => seen === null || seen.includes(name));
  if (seen === null || reached?.every(Boolean)) return key;
  if (reached && !reached.some(Boolean)) throw notFound('key');
  throw new Refusal(
    'forbidden',
    'this key reaches workspaces that you do not see: an admin of every workspace can revoke it',
    { need: 'every workspace' },
  );
}

interface ListedKey
  extends Pick<TableRow<'ApiKey'>, 'id' | 'label' | 'prefix' | 'mintedBy' | 'createdAt' | 'lastUsedAt' | 'expiresAt'> {
  readonly tenant: string;
  readonly role: KeyBody['role'] | null;
  /** The workspace's name; only for a deploy key. */
  readonly workspace: string | null;
  readonly access: NonNullable<KeyBody['access']> | null;
}

function keyView({ role, workspace, access, ...row }: ListedKey): KeyBody {
  return {
    ...row,
    role: role ?? 'admin',
    createdAt: row.createdAt.toISOString(),
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    ...(workspace !== null && access !== null && { workspace, access }),
  };
}

/** A caller belongs to one account; another one is refused as missing. */
function requireOwnTenant(caller: Pick<Caller, 'tenant'>, tenant: string | undefined): void {
  if (tenant !== undefined && tenant !== caller.tenant) throw notFound('account');
}
