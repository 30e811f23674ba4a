import type { MirrorSet } from '../../../contract/repo.js';
import type { Deps } from '../../../deps.js';
import { audit, findWorkspace, type RecordAnswer, requireNoPreview } from '../../../people/index.js';
import { Refusal } from '../../../shared/refusal.js';
import { atLeast, type Caller } from '../../../shared/roles.js';
import { readMirror, writeMirror } from './mirror-rows.js';

export interface SetMirrorInput {
  readonly workspace: string;
  /** Null removes the mirror. */
  readonly url: string | null;
  /** False allows `http`, to hosts that the operator opened. */
  readonly https: boolean;
  readonly recordAnswer?: RecordAnswer | undefined;
}

/** Sets or removes the repository that receives each change. Refuses `forbidden` below admin. */
export async function setMirror(deps: Deps, caller: Caller, input: SetMirrorInput): Promise<MirrorSet> {
  const { workspace, https, recordAnswer } = input;
  if (!atLeast(caller.role, 'admin'))
    throw new Refusal('forbidden', 'needs role admin to set a mirror', { need: 'admin' });
  const url = input.url === null ? null : checkUrl(deps, input.url, https);
  return deps.db.transaction(async (sql) => {
    const { id: workspaceId } = await findWorkspace(sql, caller, workspace, 'share');
    await requireNoPreview(sql, workspaceId, 'mirror');
    if (url === null) await sql.query('DELETE FROM mirror WHERE workspace_id = $1', [workspaceId]);
    else await writeMirror(sql, { workspaceId, url, https });
    await audit(sql, caller, 'repo.mirror', workspace, { url });
    const answer: MirrorSet = { ok: true, mirror: await readMirror(sql, workspaceId) };
    await recordAnswer?.(sql, answer);
    return answer;
  });
}

/** Updates the mirror now, without waiting for the backoff. */
export async function mirrorNow(
  deps: Deps,
  caller: Caller,
  { workspace, recordAnswer }: { readonly workspace: string; readonly recordAnswer?: RecordAnswer | undefined },
): Promise<MirrorSet> {
  return deps.db.transaction(async (sql) => {
    const { id } = await findWorkspace(sql, caller, workspace, 'share');
    const set = await sql.query(
      'UPDATE mirror SET wanted = wanted + 1, tries = 0, due_at = least(due_at, now()) WHERE workspace_id = $1 RETURNING 1',
      [id],
    );
    if (set.length === 0)
      throw new Refusal('conflict', 'the workspace has no mirror: set one first', { code: 'repo/no-mirror' });
    const answer: MirrorSet = { ok: true, mirror: await readMirror(sql, id) };
    await recordAnswer?.(sql, answer);
    return answer;
  });
}

/** The URL for git. Refuses one with a user, a query or a fragment, or of a host that may not be called. */
function checkUrl({ net }: Pick<Deps, 'net'>, text: string, https: boolean): string {
  const refused = (message: string) => new Refusal('refused', `url: ${message}`, { code: 'repo/mirror-url' });
  if (/^[\w.-]+@[\w.-]+:/.test(text) || /^ssh:/i.test(text))
    throw refused('a mirror is pushed to over https: write https://<host>/<path>.git');
  const fault = net.check(text, { httpsOnly: true });
  if (fault) throw refused(fault.message);
  const url = new URL(text);
  if (url.protocol === 'http:' && https) throw refused('this is plain http: say https: false as well to mean it');
  if (url.search !== '' || url.hash !== '') throw refused('it has a query or a fragment: leave it out');
  if (url.pathname === '/') throw refused('it names no repository: write https://<host>/<path>.git');
  return url.href;
}
