import { alignRefs, listStoredRefs } from '../../../content/index.js';
import type { Deps } from '../../../deps.js';
import { type MirrorCredential, pushMirror } from '../../../git/index.js';
import { readText } from '../../../secrets/index.js';
import { backoffMs } from '../../../shared/backoff.js';
import type { InFlight } from '../../../shared/in-flight.js';
import { redactor } from '../../../shared/redact.js';
import { claimMirrors, type MirrorTask, postponeMirror, recordMirrored } from './mirror-rows.js';

const MIRROR_TOKEN = 'MIRROR_TOKEN';
const PUSH_MS = 300_000;
/** How long an attempt may take before another worker retries. */
const LEASE_MS = PUSH_MS + 60_000;
const MAX_REASON = 500;

/** Starts to push outdated mirrors, each under a lease, within the limits. Returns how many it started. */
export async function beginMirrors(deps: Deps, at: InFlight, signal?: AbortSignal): Promise<number> {
  if (at.room <= 0 || signal?.aborted) return 0;
  const tasks = await claimMirrors(deps.db, { batch: at.room, leaseMs: LEASE_MS, except: at.busy });
  for (const task of tasks) at.begin(task.tenant, () => attempt(deps, task, signal));
  return tasks.length;
}

async function attempt(deps: Deps, task: MirrorTask, signal: AbortSignal | undefined): Promise<void> {
  const reason = await push(deps, task, signal).catch((error: unknown) => {
    if (signal?.aborted) return 'stopped';
    deps.log.error({ err: error, workspaceId: task.workspaceId }, 'failed to push a mirror');
    return 'internal error';
  });
  if (reason === null) return recordMirrored(deps.db, task);
  // A stopped attempt is not a failure: the next worker continues.
  if (signal?.aborted) return postponeMirror(deps.db, task, { reason: null, afterMs: 0 });
  await postponeMirror(deps.db, task, { reason, afterMs: backoffMs('mirror', task.tries + 1) ?? 0 });
}

/** Null when the mirror is up to date; else the reason, with secrets redacted. */
async function push(deps: Deps, task: MirrorTask, signal: AbortSignal | undefined): Promise<string | null> {
  signal?.throwIfAborted();
  const where = await deps.net.resolve(task.url, { httpsOnly: true });
  if (where.kind === 'fault') return where.message;
  if (where.url.protocol === 'http:' && task.https) return 'the mirror requires https, and its URL is http';
  const secret = await openToken(deps, task);
  if (secret.kind === 'fault') return secret.message;
  const { text } = redactor(secret.token === null ? [] : [[MIRROR_TOKEN, secret.token]]);
  const repository = await alignRefs(deps, task.workspaceId);
  if (!repository) return null;
  const refs = await refsOf(deps, task.workspaceId);
  // Nothing is live yet: an empty push would only delete the refs of the mirror.
  if (refs.size === 0) return null;
  const pushed = await pushMirror(repository, {
    refs,
    url: where.url,
    addresses: where.addresses,
    credential: secret.token === null ? null : credentialOf(secret.token),
    timeoutMs: PUSH_MS,
    signal,
  });
  return pushed.ok ? null : text(pushed.message).slice(0, MAX_REASON);
}

/** Main, branches and tags, without the refs of the service. A share lock keeps them consistent. */
async function refsOf(deps: Deps, workspaceId: string): Promise<ReadonlyMap<string, string>> {
  return deps.db.transaction(async (sql) => {
    await sql.query('SELECT 1 FROM workspace WHERE id = $1 FOR SHARE', [workspaceId]);
    const [live] = await sql.query<{ commit: string }>({
      name: 'mirrored-main',
      text: `SELECT r.git_commit AS commit FROM workspace w JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq WHERE w.id = $1`,
      values: [workspaceId],
    });
    if (!live) return new Map();
    const stored = (await listStoredRefs(sql, workspaceId)).filter(({ name }) => !name.startsWith(SERVICE));
    return new Map([['refs/heads/main', live.commit], ...stored.map(({ name, oid }) => [name, oid] as const)]);
  });
}

/** The prefix of refs that are neither branches nor tags. */
const SERVICE = 'refs/service/';

type Token =
  | { readonly kind: 'token'; readonly token: string | null }
  | { readonly kind: 'fault'; readonly message: string };

/** The workspace's token takes precedence over the account's. */
async function openToken(deps: Deps, { tenant, workspaceId }: MirrorTask): Promise<Token> {
  const place = { tenant, workspace: workspaceId, name: MIRROR_TOKEN };
  const found = await readText(deps, place);
  if (found.kind === 'missing') return { kind: 'token', token: null };
  const token = found.kind === 'text' ? found.text.trim() : null;
  // A line break would end the credential and start another field.
  if (token && !/[\r\n\0]/.test(token)) return { kind: 'token', token };
  return { kind: 'fault', message: `${MIRROR_TOKEN} cannot be used: store it again, as a value of one line` };
}

/** Hosts expect the token as the password, most of them with any user name; `user:token` gives one. */
function credentialOf(token: string): MirrorCredential {
  const colon = token.indexOf(':');
  if (colon > 0) return { username: token.slice(0, colon), password: token.slice(colon + 1) };
  return { username: 'x-access-token', password: token };
}
