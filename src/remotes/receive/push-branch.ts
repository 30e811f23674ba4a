import {
  type BranchPush,
  clearErased,
  deleteRef,
  dropPreview,
  type PutPreview,
  planPreview,
  putPreview,
  refusedTree,
  setRef,
} from '../../content/index.js';
import type { Deps } from '../../deps.js';
import { isAncestor, type RefCommand } from '../../git/index.js';
import { audit, findWorkspace } from '../../people/index.js';
import { Refusal } from '../../shared/refusal.js';
import { issueLines, type PlanRef, type PushContext, type RefPlan, type UpdateRef } from './push-context.js';
import { readPushedTree } from './pushed-tree.js';
import { raisePush } from './raise-push.js';
import type { Outcome } from './report.js';
import { reportEvals } from './report-evals.js';

/**
 * A push to another branch creates its preview or updates it to the branch's tree; deleting the branch deletes the
 * preview.
 */
export const pushBranch: UpdateRef = async (deps, context, { new: oid, ...command }) => {
  if (oid === null) {
    const plan = planDrop(deps, context, command);
    await deps.db.transaction((sql) => plan.apply(sql, 'check-again'));
    return plan.done();
  }
  const push = await readBranch(context, { ...command, new: oid });
  await context.pack.store();
  const put = await putPreview(deps, context.remote.caller, push);
  return reportPreview(deps, context, { command: { ...command, new: oid }, put });
};

/** The same for a transaction that moves other refs too. */
export const planBranch: PlanRef = async (deps, context, { new: oid, ...command }) => {
  if (oid === null) return planDrop(deps, context, command);
  const push = await readBranch(context, { ...command, new: oid });
  const plan = await planPreview(deps, context.remote.caller, push);
  let written: Awaited<ReturnType<typeof plan.apply>> | undefined;
  return {
    apply: async (sql, onStale) => {
      written = await plan.apply(sql, onStale);
    },
    done: async () => {
      if (!written) throw new Error(`${command.ref} was not moved`);
      const put = await plan.done(written);
      return reportPreview(deps, context, { command: { ...command, new: oid }, put });
    },
    undo: plan.undo,
  };
};

type NewTip = RefCommand & { readonly new: string };

async function readBranch({ remote, inside, pack }: PushContext, command: NewTip): Promise<BranchPush> {
  const { ref: name, old: expect, new: oid } = command;
  const tree = await readPushedTree(inside, oid);
  if (tree.issues.length > 0) throw refusedTree('the tree', tree.issues);
  return {
    workspace: remote.name,
    branch: branchOf(name),
    files: tree.files,
    executable: tree.commit.executable,
    commit: oid,
    message: tree.message,
    moveRef: async (sql) => {
      await pack.link(sql);
      const change = { workspaceId: remote.id, name, expect, oid, by: remote.caller.actor };
      if (!(await setRef(sql, change))) throw moved();
      await audit(sql, remote.caller, 'git.push', remote.name, { ref: name, before: expect, after: oid });
      await raisePush(sql, remote, { ref: name, before: expect, after: oid });
    },
  };
}

async function reportPreview(
  deps: Deps,
  { remote, inside, say, later }: PushContext,
  { command: { old, new: oid }, put }: { readonly command: NewTip; readonly put: PutPreview },
): Promise<Outcome> {
  say(
    ...issueLines(put.issues),
    `The preview ${put.name} ${put.created ? 'was made' : put.applied ? 'was brought up to date' : 'has this tree already'}.`,
  );
  if (put.applied && put.evals.length > 0) later.push(() => reportPreviewEvals(deps, { remote, put, say }));
  const forced = old !== null && !(await isAncestor(inside, old, oid));
  return { kind: 'ok', ...(forced && { forced }) };
}

async function reportPreviewEvals(
  deps: Deps,
  { remote, put, say }: Pick<PushContext, 'remote' | 'say'> & { readonly put: PutPreview },
): Promise<void> {
  const [row] = await deps.db
    .query<{ id: string; revision: string }>(
      `SELECT w.id, r.id AS revision FROM workspace w JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq
        WHERE w.tenant_id = $1 AND w.name = $2`,
      [remote.caller.tenant, put.name],
    )
    .catch((err: unknown) => {
      deps.log.warn({ err }, 'failed to read the results of push evals');
      return [];
    });
  if (row) await reportEvals(deps, { workspaceId: row.id, name: put.name, revision: row.revision, say });
}

function planDrop(
  deps: Deps,
  { remote, say }: PushContext,
  { ref: name, old: expect }: Pick<RefCommand, 'ref' | 'old'>,
): RefPlan {
  let dropped: Awaited<ReturnType<typeof dropPreview>> = null;
  return {
    apply: async (sql) => {
      await findWorkspace(sql, remote.caller, remote.name, 'share');
      dropped = await dropPreview(sql, remote.caller, { workspace: remote.name, branch: branchOf(name) });
      if (!(await deleteRef(sql, { workspaceId: remote.id, name, expect }))) throw moved();
      await audit(sql, remote.caller, 'git.push', remote.name, { ref: name, before: expect, after: null });
      await raisePush(sql, remote, { ref: name, before: expect, after: null });
    },
    done: async () => {
      if (dropped) {
        await clearErased(deps, dropped);
        say(`The preview ${dropped.name} was deleted.`);
      }
      return { kind: 'ok' };
    },
  };
}

function branchOf(ref: string): string {
  return ref.replace(/^refs\/heads\//, '');
}

function moved(): Refusal {
  return new Refusal('conflict', 'it has moved since you fetched it; fetch, then push again');
}
