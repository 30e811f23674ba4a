import { deployTree, liveRuns, noteRefused, raiseEvent, requireDeployed } from '../../content/index.js';
import type { PushState } from '../../contract/code-host.js';
import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { type OpenedSecret, readText } from '../../secrets/index.js';
import { backoffMs } from '../../shared/backoff.js';
import type { InFlight } from '../../shared/in-flight.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { StorageUnavailable, toStorageError } from '../../shared/storage-unavailable.js';
import { type Fetched, fetchTree } from './fetch-tree.js';
import { HOSTS } from './hosts/index.js';
import type { NewPush } from './push-rows.js';

const FETCH_TOKEN = 'GIT_FETCH_TOKEN';

interface PushRow extends Omit<NewPush, 'deliveryKey'> {
  readonly id: string;
  readonly workspace: string;
  readonly tenant: string;
  readonly state: 'pending' | 'waiting';
  /** The number of earlier failed fetches. */
  readonly tries: number;
  /** A fence: grows with every claim, so that an overtaken worker writes nothing. */
  readonly claim: number;
}

type Outcome =
  | {
      readonly state: Exclude<PushState, 'pending' | 'waiting'>;
      readonly detail: string | null;
      readonly revision?: string | null;
      /** Set when a notification must be sent: a deploy has sent its own. */
      readonly notify?: true;
    }
  | { readonly state: 'pending' | 'waiting'; readonly detail: string; readonly afterMs: number };

/** How long an attempt may take before another worker retries; longer than the timeout of an archive. */
const LEASE_MS = 240_000;

const POLL_RUNS_MS = 3_000;

/**
 * Starts to deploy due pushes, one per workspace at a time, each under a lease, within the limits. Returns how many it
 * started. The signal stops a running fetch, and another worker then continues.
 */
export async function beginPushes(deps: Deps, at: InFlight, signal?: AbortSignal): Promise<number> {
  if (at.room <= 0 || signal?.aborted) return 0;
  const rows = await claimDue(deps.db, at);
  for (const row of rows) at.begin(row.tenant, () => processPush(deps, row, signal));
  return rows.length;
}

async function processPush(deps: Deps, row: PushRow, signal: AbortSignal | undefined): Promise<void> {
  const outcome = await attempt(deps, row, signal).catch((error: unknown) =>
    signal?.aborted && error === signal.reason ? ('stopped' as const) : afterError(deps, row, error),
  );
  if (outcome === 'stopped') await release(deps.db, row);
  else if (outcome) await recordOutcome(deps, row, outcome);
}

/**
 * Locks the workspaces, so that two workers never process two pushes of one workspace. Adds 1 ms to now, since columns
 * round times to whole milliseconds.
 */
async function claimDue(sql: Sql, { room, busy }: Pick<InFlight, 'room' | 'busy'>): Promise<readonly PushRow[]> {
  return sql.query<PushRow>({
    name: 'claim-code-pushes',
    text: `WITH due AS (
        SELECT p.id FROM code_push p JOIN workspace w ON w.id = p.workspace_id
        WHERE p.state IN ('pending', 'waiting') AND p.due_at <= now() + interval '1 ms' AND NOT EXISTS (
          SELECT 1 FROM code_push o WHERE o.workspace_id = p.workspace_id AND o.id <> p.id AND o.leased_until > now()
            AND o.state IN ('pending', 'waiting'))
          AND w.tenant_id <> ALL ($3)
        ORDER BY p.due_at LIMIT $1 FOR UPDATE OF p, w SKIP LOCKED),
      mine AS (SELECT DISTINCT ON (p.workspace_id) p.id FROM code_push p JOIN due USING (id) ORDER BY p.workspace_id, p.id)
      UPDATE code_push p SET claim = p.claim + 1, due_at = now() + $2 * interval '1 ms', leased_until = now() + $2 * interval '1 ms'
      FROM mine, workspace w WHERE p.id = mine.id AND w.id = p.workspace_id
      RETURNING p.id, p.workspace_id AS "workspaceId", w.name AS workspace, w.tenant_id AS tenant, p.host, p.repository,
        p.archive_url AS "archiveUrl", p.branch, p.dir, p.commit, p.message, p.authors, p.address, p.state, p.tries, p.claim`,
    values: [room, LEASE_MS, busy],
  });
}

async function attempt(deps: Deps, row: PushRow, signal: AbortSignal | undefined): Promise<Outcome> {
  // Checked before the fetch, since a workspace may be busy for days.
  const { count } = await liveRuns(deps.db, row.workspaceId);
  if (count > 0) return waiting(count);
  const fetched = await fetchPushed(deps, row, signal);
  if (fetched.kind === 'fault') return afterFault(row, fetched);
  return deployPushed(deps, row, fetched);
}

/** Retries unexpected errors as well. Rethrows an unavailable database, since the outcome cannot be recorded. */
function afterError({ log }: Pick<Deps, 'log'>, row: PushRow, error: unknown): Outcome | null {
  if (error instanceof SupersededPush) return null;
  if (toStorageError(error) instanceof StorageUnavailable)
    return afterFault(row, { kind: 'fault', message: 'the storage does not answer', again: true });
  if (error instanceof Refusal && error.kind === 'unavailable') throw error;
  log.error({ err: error, push: row.id, workspaceId: row.workspaceId }, 'failed to process a code host’s push');
  return afterFault(row, { kind: 'fault', message: 'internal error', again: true });
}

function waiting(count: number): Outcome {
  const what = count === 1 ? 'a run is' : `${count} runs are`;
  return { state: 'waiting', detail: `${what} live: it is deployed when they have ended`, afterMs: POLL_RUNS_MS };
}

function afterFault({ tries }: PushRow, { message, again }: Extract<Fetched, { kind: 'fault' }>): Outcome {
  const afterMs = again ? backoffMs('push', tries + 1) : null;
  if (afterMs !== null) return { state: 'pending', detail: message, afterMs };
  return { state: again ? 'failed' : 'refused', detail: message, notify: true };
}

async function fetchPushed(deps: Deps, row: PushRow, signal: AbortSignal | undefined): Promise<Fetched> {
  const place = { tenant: row.tenant, workspace: row.workspaceId, name: FETCH_TOKEN };
  const refused = (message: string): Fetched => ({ kind: 'fault', message, again: false });
  const found = await readText(deps, place);
  if (found.kind === 'missing') return fetchTree(deps, { ...row, token: null }, signal);
  if (found.kind === 'unusable') return refused(`${FETCH_TOKEN} cannot be used: store it again, as a value`);
  const elsewhere = await pinSource(deps.db, row.workspaceId, { token: found.secret, repository: row.repository });
  return elsewhere === null ? fetchTree(deps, { ...row, token: found.text }, signal) : refused(elsewhere);
}

/** The push was superseded, or another worker claimed it, during the work. */
class SupersededPush extends Error {
  override readonly name = 'SupersededPush';
}

type Tree = Extract<Fetched, { kind: 'files' }>;

/** Records the outcome in the deploy's own transaction, so that a crash leaves both or neither. */
async function deployPushed(deps: Deps, row: PushRow, { files, executable }: Tree): Promise<Outcome> {
  const { workspace, workspaceId, branch, commit, repository } = row;
  try {
    const outcome = await deployTree(deps, pusher(row), {
      workspace,
      files,
      executable,
      commit,
      message: row.message,
      via: 'push',
      mentions: 'changed',
      inTransaction: async (sql, applied) => {
        if (!(await write(sql, row, { state: 'applied', detail: null, revision: applied.revision })))
          throw new SupersededPush();
        await raiseEvent(sql, {
          workspaceId,
          kind: 'push',
          body: { branch, commit, repository, authors: row.authors, message: row.message },
          runId: null,
        });
      },
    });
    if (outcome.kind === 'blocked') return waiting(outcome.live);
    const { revision } = requireDeployed(outcome);
    if (outcome.kind === 'applied') return { state: 'applied', detail: null, revision };
    return { state: 'unchanged', detail: 'this commit, or these files, are live or were before', revision };
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind === 'unavailable') throw error;
    return { state: 'refused', detail: error.message };
  }
}

/** The caller of the deploy: not a member, but a sender with the webhook's secret, used for this deploy only. */
function pusher({ tenant, address, host, authors, repository }: PushRow): Caller {
  const [first, ...more] = authors;
  const others = more.length === 0 ? '' : more.length === 1 ? ' and another' : ` and ${more.length} others`;
  return {
    tenant,
    role: 'editor',
    workspaces: null,
    actor: {
      kind: 'event',
      id: host,
      label: first === undefined ? repository : `${first}${others} (${HOSTS[host].label})`,
    },
    person: null,
    signedIn: false,
    address,
  };
}

async function recordOutcome(deps: Deps, row: PushRow, outcome: Outcome): Promise<void> {
  if (!(await write(deps.db, row, outcome)) || !('notify' in outcome)) return;
  deps.log.info(
    { workspaceId: row.workspaceId, push: row.id, reason: outcome.detail },
    'gave up on a code host’s push',
  );
  const refusal = new Refusal('refused', outcome.detail ?? outcome.state);
  await noteRefused(deps, pusher(row), { workspace: row.workspace, via: 'push' }, refusal);
}

/** False when another worker has claimed the push. */
async function write(sql: Sql, row: PushRow, outcome: Outcome): Promise<boolean> {
  const isOpen = outcome.state === 'pending' || outcome.state === 'waiting';
  const written = await sql.query({
    name: 'settle-code-push',
    text: `UPDATE code_push SET state = $3, detail = $4, revision = $5, tries = tries + $6, leased_until = NULL,
        due_at = now() + $7 * interval '1 ms', ended_at = CASE WHEN $8 THEN NULL ELSE now() END
      WHERE id = $1 AND claim = $2 AND state IN ('pending', 'waiting') RETURNING 1`,
    values: [
      row.id,
      row.claim,
      outcome.state,
      outcome.detail,
      'revision' in outcome ? (outcome.revision ?? null) : null,
      outcome.state === 'waiting' ? 0 : 1,
      isOpen ? outcome.afterMs : 0,
      isOpen,
    ],
  });
  return written.length > 0;
}

/** Ends the lease of a stopped attempt, which is not a failure: the next worker continues at once. */
async function release(sql: Sql, { id, claim }: PushRow): Promise<void> {
  await sql.query({
    name: 'release-code-push',
    text: `UPDATE code_push SET leased_until = NULL, due_at = now()
      WHERE id = $1 AND claim = $2 AND state IN ('pending', 'waiting')`,
    values: [id, claim],
  });
}

/**
 * Pins a token to the repository that it was first used for, until the secret is stored again: otherwise a sender with
 * only the webhook's secret could name their own server in a payload and receive the token. Returns why the token may
 * not be used; null when it may.
 */
async function pinSource(
  sql: Sql,
  workspaceId: string,
  { token, repository }: { readonly token: Pick<OpenedSecret, 'id' | 'version' | 'name'>; readonly repository: string },
): Promise<string | null> {
  await sql.query({
    name: 'pin-code-source',
    text: `INSERT INTO code_source AS s (workspace_id, repository, secret_id, secret_version) VALUES ($1, $2, $3, $4)
      ON CONFLICT (workspace_id) DO UPDATE SET repository = excluded.repository, secret_id = excluded.secret_id,
        secret_version = excluded.secret_version, at = now()
      WHERE s.secret_id <> excluded.secret_id OR s.secret_version < excluded.secret_version`,
    values: [workspaceId, repository, token.id, token.version],
  });
  const [pinned] = await sql.query<{ repository: string }>({
    name: 'pinned-code-source',
    text: 'SELECT repository FROM code_source WHERE workspace_id = $1',
    values: [workspaceId],
  });
  if (pinned?.repository === repository) return null;
  return `${token.name} is used for ${pinned?.repository}, and this push is of ${repository}: store the secret again to use it there`;
}
