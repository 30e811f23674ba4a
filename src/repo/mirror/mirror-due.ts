import { secretText } from '../../code-host/index.js';
import type { Deps } from '../../deps.js';
import { type MirrorCredential, pushMirror } from '../../git/index.js';
import { CannotOpen, openSecret } from '../../secrets/index.js';
import type { InFlight } from '../../shared/in-flight.js';
import { redactor } from '../../shared/redact.js';
import { alignRefs, listStoredRefs } from '../../workspaces/index.js';
import { claimMirrors, type MirrorTask, postponeMirror, recordMirrored } from './mirror-rows.js';

const MIRROR_TOKEN = 'MIRROR_TOKEN';
const PUSH_MS = 300_000;
/** How long a try may take before another worker makes it. */
const LEASE_MS = PUSH_MS + 60_000;
/** Pauses after each failure in a row, in seconds; then always the last. */
const PAUSES = [5, 30, 120, 600, 1_800, 3_600] as const;
const MAX_REASON = 500;

/** Begins to push mirrors that are behind, each under a lease, as far as there is room. Answers how many it began. */
export async function beginMirrors(deps: Deps, at: InFlight, signal?: AbortSignal): Promise<number> {
  if (at.room <= 0) return 0;
  const tasks = await claimMirrors(deps.db, { batch: at.room, leaseMs: LEASE_MS, except: at.busy });
  for (const task of tasks) at.begin(task.tenant, () => attempt(deps, task, signal));
  return tasks.length;
}

async function attempt(deps: Deps, task: MirrorTask, signal: AbortSignal | undefined): Promise<void> {
  const reason = await push(deps, task, signal).catch((error: unknown) => {
    deps.log.error({ err: error, workspaceId: task.workspaceId }, 'a mirror could not be pushed');
    return 'internal error';
  });
  if (reason === null) return recordMirrored(deps.db, task);
  // Who is told to stop has not failed: whoever comes next goes on.
  if (signal?.aborted) return postponeMirror(deps.db, task, { reason: null, afterMs: 0 });
  const pause = PAUSES[Math.min(task.tries, PAUSES.length - 1)] ?? 0;
  // Up to a fifth more, so that what failed together does not come back together.
  await postponeMirror(deps.db, task, { reason, afterMs: pause * 1_000 * (1 + Math.random() / 5) });
}

/** Null when the mirror has everything; else why not, without a secret in it. */
async function push(deps: Deps, task: MirrorTask, signal: AbortSignal | undefined): Promise<string | null> {
  const where = await deps.net.resolve(task.url, { httpsOnly: true });
  if (where.kind === 'fault') return where.message;
  if (where.url.protocol === 'http:' && task.https) return 'the mirror is to be pushed to over https';
  const secret = await openToken(deps, task);
  if (secret.kind === 'fault') return secret.message;
  const { text } = redactor(secret.token === null ? [] : [[MIRROR_TOKEN, secret.token]]);
  const repository = await alignRefs(deps, task.workspaceId);
  if (!repository) return null;
  const refs = await refsOf(deps, task.workspaceId);
  // Nothing is live yet: an empty push would only take away what is there.
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

/** Main as it is live, branches and tags; what the service keeps for itself stays here. Read in one statement each, main last. */
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

/** What is no branch and no tag. */
const SERVICE = 'refs/service/';

type Token =
  | { readonly kind: 'token'; readonly token: string | null }
  | { readonly kind: 'fault'; readonly message: string };

/** The workspace's own comes before the account's. */
async function openToken(deps: Deps, { tenant, workspaceId }: MirrorTask): Promise<Token> {
  const place = { tenant, workspace: workspaceId, name: MIRROR_TOKEN };
  const opened = await openSecret(deps.db, deps.keys, place).catch((error: unknown) => {
    if (error instanceof CannotOpen) return error;
    throw error;
  });
  if (opened === null) return { kind: 'token', token: null };
  const token = opened instanceof CannotOpen ? null : secretText(opened)?.trim();
  // A line's end would end the credential, and begin another field of it.
  if (token && !/[\r\n\0]/.test(token)) return { kind: 'token', token };
  return { kind: 'fault', message: `${MIRROR_TOKEN} cannot be used: store it again, as a value of one line` };
}

/** Hosts ask for a token as the password, most of them under any name; `user:token` names one. */
function credentialOf(token: string): MirrorCredential {
  const colon = token.indexOf(':');
  if (colon > 0) return { username: token.slice(0, colon), password: token.slice(colon + 1) };
  return { username: 'x-access-token', password: token };
}
