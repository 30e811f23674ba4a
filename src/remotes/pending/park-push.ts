import { liveRuns, readLiveCommit, setRef } from '../../content/index.js';
import type { Deps } from '../../deps.js';
import { announceRuns, enqueueOutbox } from '../../engine/index.js';
import type { RefCommand } from '../../git/index.js';
import { audit, findWorkspace } from '../../people/index.js';
import { failpoint } from '../../shared/failpoint.js';
import { requireNewest } from '../receive/propose-commit.js';
import type { PushContext } from '../receive/push-context.js';
import type { Outcome } from '../receive/report.js';
import { PENDING, writePending } from './pending-rows.js';

/** How many live runs the message to the client names. */
const NAMED = 5;

/**
 * Stores a checked push to `main` while runs are live. `main` stays, so that a clone shows what is live; the report says
 * that `refs/service/pending` moved in its place. A workflow applies the push when the runs have ended. Null when they
 * ended in the meantime: then the push can go live at once.
 */
export async function parkPush(deps: Deps, context: PushContext, command: RefCommand): Promise<Outcome | null> {
  const { remote, pack, say } = context;
  const oid = command.new ?? '';
  await pack.store();
  const parked = await deps.db.transaction(async (sql) => {
    await findWorkspace(sql, remote.caller, remote.name, 'update');
    requireNewest({ gitCommit: await readLiveCommit(sql, remote.id) }, command.old);
    const { count, runs } = await liveRuns(sql, remote.id);
    if (count === 0) return null;
    const [before] = await sql.query<{ oid: string }>('SELECT oid FROM git_ref WHERE workspace_id = $1 AND name = $2', [
      remote.id,
      PENDING,
    ]);
    const reason = `waits for ${countRuns(count)}`;
    await pack.link(sql);
    await setRef(sql, { workspaceId: remote.id, name: PENDING, oid, by: remote.caller.actor });
    await writePending(sql, { workspaceId: remote.id, oid, caller: remote.caller, reason });
    await enqueueOutbox(sql, remote.id, 'apply-push');
    await audit(sql, remote.caller, 'git.push', remote.name, { ref: PENDING, before: command.old, after: oid });
    return { count, runs, before: before?.oid ?? null };
  });
  if (!parked) return null;
  failpoint('push-parked');
  void announceRuns(deps, [remote.id]);
  say(
    `Accepted, and not live yet: it waits for the end of ${countRuns(parked.count)}:`,
    ...runLines(parked),
    `Then it is applied by itself. Until then main stays as it is, and your commit is ${PENDING}.`,
    `To apply it now: POST /api/workspaces/${remote.name}/repo {"action":"deploy","ref":"${PENDING}","force":true}`,
  );
  return { kind: 'ok', instead: { ref: PENDING, old: parked.before } };
}

export function countRuns(count: number): string {
  return count === 1 ? 'a live run' : `${count} live runs`;
}

/** A line for each of the first runs that the push waits for. */
export function runLines({ count, runs }: Awaited<ReturnType<typeof liveRuns>>): readonly string[] {
  const named = runs.slice(0, NAMED).map(({ id, flow, status }) => `  ${flow} ${id} (${status})`);
  const more = count - named.length;
  return more > 0 ? [...named, `  and ${more} more`] : named;
}
