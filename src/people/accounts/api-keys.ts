import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Deps } from '../../deps.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';
import { newId } from '../../shared/ids.js';
import { Refusal } from '../../shared/refusal.js';
import { atLeast, type Caller, type Role } from '../../shared/roles.js';
import { equalSecrets, randomCode } from './primitives.js';

/** `sbx_<prefix>_<secret><checksum>`: 8, 40 and 6 characters of letters and digits. */
const FORM = /^sbx_([a-zA-Z0-9]{8})_([a-zA-Z0-9]{40})([a-zA-Z0-9]{6})$/;

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

interface KeyRow extends Pick<TableRow<'ApiKey'>, 'id' | 'label' | 'hash' | 'workspace' | 'mintedById'> {
  readonly tenant: string;
  readonly role: Role | null;
  readonly revoked: boolean;
  readonly expired: boolean;
  readonly stale: boolean;
  readonly member:
    | (Pick<TableRow<'Member'>, 'email' | 'allWorkspaces' | 'workspaces'> & { readonly role: Role })
    | null;
}

/**
 * The caller behind an API key. Refuses `unauthenticated` for an unknown, revoked or expired key, and `forbidden` for a
 * deploy key, which works for git only. A key has at most its minter's current role and workspaces, and ends with the
 * minter's membership.
 */
export async function authenticateKey(deps: Deps, key: string, address: string | null): Promise<Caller> {
  const row = await authenticRow(deps, key);
  if (row.workspace !== null)
    throw new Refusal('forbidden', 'a deploy key works for git clone and push only', { code: 'deploy-key' });
  return toCaller(row, address);
}

/** The caller of a git request; `workspace` is the id of a deploy key's workspace, and null for other keys. */
export interface GitCaller {
  readonly caller: Caller;
  readonly workspace: string | null;
}

/** Like `authenticateKey`, for git. A deploy key is accepted, with the role viewer (read) or editor (write). */
export async function authenticateGitKey(deps: Deps, key: string, address: string | null): Promise<GitCaller> {
  const row = await authenticRow(deps, key);
  return { caller: toCaller(row, address), workspace: row.workspace };
}

async function authenticRow(deps: Deps, key: string): Promise<KeyRow> {
  const prefix = prefixOf(key);
  if (prefix === undefined) throw new Refusal('unauthenticated', 'this is not an API key: it is mistyped or cut off');
  const row = await findKey(deps, prefix);
  if (!row || !equalSecrets(row.hash, hashKey(key))) throw new Refusal('unauthenticated', 'no such API key');
  refuseDead(row);
  if (row.stale) await touch(deps, row.id);
  return row;
}

async function findKey(deps: Deps, prefix: string): Promise<KeyRow | undefined> {
  const [row] = await deps.db.query<KeyRow>({
    name: 'authenticate-key',
    text: `SELECT k.id, k.tenant_id AS tenant, k.label, k.role, k.hash, k.workspace, k.minted_by_id AS "mintedById",
                  k.revoked_at IS NOT NULL AS revoked,
                  coalesce(k.expires_at <= now(), false) AS expired,
                  coalesce(k.last_used_at < now() - interval '1 minute', true) AS stale,
                  CASE WHEN m.id IS NULL THEN NULL ELSE json_build_object(
                    'role', CASE WHEN t.owner_id = m.id THEN 'owner' ELSE m.role END, 'email', m.email,
                    'allWorkspaces', m.all_workspaces, 'workspaces', with_previews(m.tenant_id, m.workspaces)) END AS member
           FROM api_key k
           JOIN tenant t ON t.id = k.tenant_id
           LEFT JOIN member m ON m.id = k.minted_by_id AND m.tenant_id = k.tenant_id
           WHERE k.prefix = $1`,
    values: [prefix],
  });
  return row;
}

function refuseDead(row: KeyRow): void {
  if (row.revoked) throw new Refusal('unauthenticated', 'this API key was revoked: mint a new one');
  if (row.expired) throw new Refusal('unauthenticated', 'this API key has expired: mint a new one');
  if (row.mintedById !== null && !row.member) {
    throw new Refusal(
      'unauthenticated',
      'the member who minted this API key is gone, and it with them: mint a new one',
    );
  }
}

/** Updates the last use at most once a minute, so that most reads do not write. */
async function touch(deps: Deps, id: string): Promise<void> {
  await deps.db.query({
    name: 'touch-key',
    text: `UPDATE api_key SET last_used_at = now()
           WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`,
    values: [id],
  });
}

function toCaller(row: KeyRow, address: string | null): Caller {
  const { member } = row;
  const role = lowest('admin', row.role ?? 'admin', member?.role ?? 'admin');
  return {
    tenant: row.tenant,
    role,
    workspaces: !member || member.role === 'owner' || member.allWorkspaces ? null : member.workspaces,
    actor: { kind: 'key', id: row.id, label: row.label },
    person: member && row.mintedById !== null ? { id: row.mintedById, email: member.email } : null,
    signedIn: false,
    address,
  };
}

function lowest(...roles: readonly [Role, ...Role[]]): Role {
  return roles.reduce((low, role) => (atLeast(role, low) ? low : role));
}

interface MintKeyInput {
  readonly tenant: string;
  readonly label: string;
  /** Never `owner`: a key of an owner has the role admin. */
  readonly role: Exclude<Role, 'owner'>;
  /** The member whose role and membership limit the key; null for a key of the system. */
  readonly mintedBy: { readonly id: string; readonly email: string } | null;
  /** Makes it a deploy key: git only, for the workspace with this id. */
  readonly deploy?: { readonly workspace: string; readonly access: 'read' | 'write' };
  readonly expiresAt?: Date;
}

interface MintedKey {
  readonly id: string;
  readonly prefix: string;
  /** Shown once: only its hash is kept. */
  readonly key: string;
}

export async function mintKey(sql: Sql, input: MintKeyInput): Promise<MintedKey> {
  const id = newId();
  const { key, prefix, hash } = newKey();
  const { tenant, label, role, mintedBy, deploy, expiresAt } = input;
  await sql.query({
    name: 'mint-key',
    text: `INSERT INTO api_key (id, tenant_id, label, role, prefix, hash, minted_by_id, minted_by, workspace, access, expires_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    values: [
      id,
      tenant,
      label,
      role,
      prefix,
      hash,
      mintedBy?.id ?? null,
      mintedBy?.email ?? 'system',
      deploy?.workspace ?? null,
      deploy?.access ?? null,
      expiresAt ?? null,
    ],
  });
  return { id, prefix, key };
}

interface NewKey {
  readonly key: string;
  /** Stored in the clear: finds the row and identifies the key for people. */
  readonly prefix: string;
  readonly hash: string;
}

function newKey(): NewKey {
  const prefix = randomCode(8);
  const body = `sbx_${prefix}_${randomCode(40)}`;
  const key = body + checksum(body);
  return { key, prefix, hash: hashKey(key) };
}

/** The prefix of a well-formed key; undefined for anything else, so that a typo causes no query. */
function prefixOf(key: string): string | undefined {
  const [, prefix, , sum] = FORM.exec(key) ?? [];
  return sum !== undefined && sum === checksum(key.slice(0, -sum.length)) ? prefix : undefined;
}

/** SHA-256 in hex. A key has 238 random bits, so a slow hash would add nothing. */
export function hashKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** CRC-32 in six digits of base 62, like in GitHub's tokens, so that scanners and people detect a mistyped key. */
function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < 6; i += 1) {
    digits = DIGITS.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
