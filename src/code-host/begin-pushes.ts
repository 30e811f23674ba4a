import type { PushState } from '../contract/code-host.js';
import type { Sql } from '../db/contract.js';
import { deployTree, noteRefused } from '../deploys/index.js';
import type { Deps } from '../deps.js';
import { CannotOpen, openSecret } from '../secrets/index.js';
import type { InFlight } from '../shared/in-flight.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { StorageUnavailable, toStorageError } from '../shared/storage-unavailable.js';
import { liveRuns, raiseEvent } from '../workspaces/index.js';
import { type Fetched, fetchTree } from './fetch-tree.js';
import { HOSTS } from './hosts/index.js';
import { pinSource } from './pin-source.js';
import type { NewPush } from './push-rows.js';
import { secretText } from './secret-text.js';

export const FETCH_TOKEN = 'GIT_FETCH_TOKEN';

interface PushRow extends Omit<NewPush, 'deliveryKey'> {
  readonly id: string;
  readonly workspace: string;
  readonly tenant: string;
  readonly state: 'pending' | 'waiting';
  /** Fetches that failed, this one not included. */
  readonly tries: number;
  /** Grows with every claim: who was overtaken writes nothing. */
  readonly claim: number;
}

type Outcome =
  | {
      readonly state: Exclude<PushState, 'pending' | 'waiting'>;
      readonly detail: string | null;
      readonly revision?: string | null;
      /** False for what nobody was told yet: a deploy tells of its own refusals. */
      readonly isTold?: false;
    }
  | { readonly state: 'pending' | 'waiting'; readonly detail: string; readonly afterMs: number };

/** How long an attempt may take before another worker makes it; longer than an archive's patience. */
const LEASE_MS = 240_000;
/** Pauses after each fetch that failed, in seconds: two hours in all. */
const PAUSES = [5, 30, 120, 600, 1_800, 3_600] as const;
const LOOK_AGAIN_MS = 3_000;

/** Begins to deploy the pushes that are due, one of a workspace at a time, each under a lease, as far as there is room. Answers how many it began. */
export async function beginPushes(deps: Deps, at: InFlight): Promise<number> {
  if (at.room <= 0) return 0;
  const rows = await claimDue(deps.db, at);
  for (const row of rows) at.begin(row.tenant, () => take(deps, row));
  return rows.length;
}

async function take(deps: Deps, row: PushRow): Promise<void> {
  const outcome = await attempt(deps, row).catch((error: unknown) => afterError(deps, row, error));
  if (outcome) await settle(deps, row, outcome);
}

/**
 * Under a lock of the workspaces, so that two workers never have two pushes of one in hand. Times are kept in whole
 * milliseconds: one that is now may be a little later.
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

async function attempt(deps: Deps, row: PushRow): Promise<Outcome> {
  // Before anything is fetched: a workspace may be busy for days.
  const { count } = await liveRuns(deps.db, row.workspaceId);
  if (count > 0) return waiting(count);
  const fetched = await fetchPushed(deps, row);
  if (fetched.kind === 'fault') return afterFault(row, fetched);
  return deployPushed(deps, row, fetched);
}

/** What nobody foresaw is tried again as well; a database that is away is told by whoever asks it next. */
function afterError({ log }: Pick<Deps, 'log'>, row: PushRow, error: unknown): Outcome | null {
  if (error instanceof Overtaken) return null;
  if (toStorageError(error) instanceof StorageUnavailable)
    return afterFault(row, { kind: 'fault', message: 'the storage does not answer', again: true });
  if (error instanceof Refusal && error.kind === 'unavailable') throw error;
  log.error({ err: error, push: row.id, workspaceId: row.workspaceId }, 'a code host’s push could not be worked on');
  return afterFault(row, { kind: 'fault', message: 'internal error', again: true });
}

function waiting(count: number): Outcome {
  const what = count === 1 ? 'a run is' : `${count} runs are`;
  return { state: 'waiting', detail: `${what} live: it is deployed when they have ended`, afterMs: LOOK_AGAIN_MS };
}

function afterFault({ tries }: PushRow, { message, again }: Extract<Fetched, { kind: 'fault' }>): Outcome {
  const pause = again ? PAUSES[tries] : undefined;
  // Up to a fifth more, so that what failed together does not come back together.
  if (pause !== undefined)
    return { state: 'pending', detail: message, afterMs: pause * 1_000 * (1 + Math.random() / 5) };
  return { state: again ? 'failed' : 'refused', detail: message, isTold: false };
}

async function fetchPushed(deps: Deps, row: PushRow): Promise<Fetched> {
  const place = { tenant: row.tenant, workspace: row.workspaceId, name: FETCH_TOKEN };
  const refused = (message: string): Fetched => ({ kind: 'fault', message, again: false });
  const secret = await openSecret(deps.db, deps.keys, place).catch((error: unknown) => {
    if (error instanceof CannotOpen) return error;
    throw error;
  });
  if (secret === null) return fetchTree(deps, { ...row, token: null });
  const token = secret instanceof CannotOpen ? null : secretText(secret);
  if (secret instanceof CannotOpen || token === null)
    return refused(`${FETCH_TOKEN} cannot be used: store it again, as a value`);
  const elsewhere = await pinSource(deps.db, row.workspaceId, { token: secret, repository: row.repository });
  return elsewhere === null ? fetchTree(deps, { ...row, token }) : refused(elsewhere);
}

/** It was superseded, or another worker has it, while this one worked. */
class Overtaken extends Error {
  override readonly name = 'Overtaken';
}

type Tree = Extract<Fetched, { kind: 'files' }>;

/** The row ends in the deploy's own transaction, so that a worker that dies leaves both or neither. */
async function deployPushed(deps: Deps, row: PushRow, { files, executable }: Tree): Promise<Outcome> {
  const { workspace, workspaceId, branch, commit, repository } = row;
  try {
    const result = await deployTree(deps, pusher(row), {
      workspace,
      files,
      executable,
      commit,
      message: row.message,
      via: 'push',
      mentions: 'changed',
      inTransaction: async (sql, applied) => {
        if (!(await write(sql, row, { state: 'applied', detail: null, revision: applied.revision })))
          throw new Overtaken();
        await raiseEvent(sql, {
          workspaceId,
          kind: 'push',
          body: { branch, commit, repository, authors: row.authors, message: row.message },
          runId: null,
        });
      },
    });
    if (result.applied) return { state: 'applied', detail: null, revision: result.revision };
    return {
      state: 'unchanged',
      detail: 'this commit, or these files, are live or were before',
      revision: result.revision,
    };
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind === 'unavailable') throw error;
    if (error.details.code === 'deploy/live-runs') return waiting(Number(error.details.live));
    return { state: 'refused', detail: error.message };
  }
}

/** Nobody of the account: whoever has the webhook's secret, so no more than a deploy. */
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

async function settle(deps: Deps, row: PushRow, outcome: Outcome): Promise<void> {
  if (!(await write(deps.db, row, outcome)) || !('isTold' in outcome)) return;
  deps.log.info(
    { workspaceId: row.workspaceId, push: row.id, reason: outcome.detail },
    'a code host’s push was given up',
  );
  const refusal = new Refusal('refused', outcome.detail ?? outcome.state);
  await noteRefused(deps, pusher(row), { workspace: row.workspace, via: 'push' }, refusal);
}

/** False when it was not this worker's any more. */
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
