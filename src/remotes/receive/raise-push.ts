import { raiseEvent } from '../../content/index.js';
import type { Sql } from '../../platform/db/contract.js';
import type { Remote } from '../remote.js';

/** Raises the event `push` in the workspace, in the transaction that moves the ref. */
export async function raisePush(
  sql: Sql,
  remote: Pick<Remote, 'id' | 'caller'>,
  moved: { readonly ref: string; readonly before: string | null; readonly after: string | null },
): Promise<void> {
  const { ref, before, after } = moved;
  const kind = ref.startsWith('refs/tags/') ? 'tag' : 'branch';
  const body = { ref, [kind]: ref.replace(/^refs\/(heads|tags)\//, ''), before, after, by: remote.caller.actor.label };
  await raiseEvent(sql, { workspaceId: remote.id, kind: 'push', body, runId: null });
}
