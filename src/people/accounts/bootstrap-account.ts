import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { isRecord } from '../../shared/json.js';
import { mintKey } from './api-keys.js';
import { createAccount } from './create-account.js';
import { hashPassword } from './passwords.js';
import { randomCode } from './primitives.js';

interface Bootstrapped {
  readonly account: string;
  readonly email: string;
  /** An admin key. */
  readonly key: string;
  /** The owner's password, when it was generated because none was configured. */
  readonly password?: string;
}

/** An arbitrary constant: two processes that start on an empty database must not both create the account. */
const LOCK = 5_714_002;

/**
 * Creates the account, its owner and an admin key on an empty database, in one transaction. Returns null when an
 * account exists. `deliver` gets the key before the commit, so that a key that could not be written down is not
 * created.
 */
export async function bootstrapAccount(
  deps: Pick<Deps, 'config' | 'db'>,
  deliver: (made: Bootstrapped) => Promise<void> = async () => undefined,
): Promise<Bootstrapped | null> {
  if (await hasAccount(deps.db)) return null;
  const { account, email, password } = deps.config.bootstrap;
  const secret = password ?? randomCode(24);
  const passwordHash = await hashPassword(secret);
  return deps.db.transaction(async (sql) => {
    await sql.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
    if (await hasAccount(sql)) return null;
    const by = { kind: 'system', id: 'bootstrap', label: 'bootstrap' } as const;
    const owned = { name: account, owner: { email: email.toLowerCase(), passwordHash }, by, address: null };
    const created = await createAccount(sql, owned);
    if (typeof created === 'string') throw new Error(`an empty database has no account, and yet: ${created}`);
    const { tenant, owner } = created;
    const { key } = await mintKey(sql, { tenant, label: 'bootstrap', role: 'admin', mintedBy: owner });
    const made = { account: tenant, email: owner.email, key, ...(password === null && { password: secret }) };
    await deliver(made);
    return made;
  });
}

async function hasAccount(sql: Sql): Promise<boolean> {
  return (await sql.query('SELECT 1 FROM tenant LIMIT 1')).length > 0;
}

/** Writes `<dataDir>/bootstrap.json` atomically, readable by its owner only. Returns its path. */
export async function writeBootstrapFile(
  dataDir: string,
  content: Bootstrapped & { readonly url: string },
): Promise<string> {
  return write(dataDir, { ...content });
}

/** Updates the URL: the port may differ from the first start, and readers of the file must find the running service. */
export async function renewBootstrapFile(dataDir: string, url: string): Promise<'missing' | 'damaged' | 'whole'> {
  const text = await readFile(join(dataDir, 'bootstrap.json'), 'utf8').catch(() => null);
  if (text === null) return 'missing';
  const content = parse(text);
  if (content === null) return 'damaged';
  if (content.url !== url) await write(dataDir, { ...content, url });
  return 'whole';
}

function parse(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const content: unknown = JSON.parse(text);
    return isRecord(content) ? content : null;
  } catch {
    return null;
  }
}

async function write(dataDir: string, { url, ...rest }: Readonly<Record<string, unknown>>): Promise<string> {
  const path = join(dataDir, 'bootstrap.json');
  const draft = `${path}.${process.pid}`;
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await writeFile(draft, `${JSON.stringify({ url, ...rest }, null, 2)}\n`, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, path);
  return path;
}
