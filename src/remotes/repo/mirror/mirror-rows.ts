import type { MirrorBody } from '../../../contract/repo.js';
import type { Sql } from '../../../platform/db/contract.js';

interface Row extends Omit<MirrorBody, 'lastAt' | 'nextAt'> {
  readonly lastAt: Date | null;
  readonly nextAt: Date | null;
}

export async function readMirror(sql: Sql, workspaceId: string): Promise<MirrorBody | null> {
  const [row] = await sql.query<Row>({
    name: 'read-mirror',
    text: `SELECT url, https, last_at AS "lastAt", last_error AS "lastError", done < wanted AS pending,
        CASE WHEN done < wanted THEN due_at END AS "nextAt" FROM mirror WHERE workspace_id = $1`,
    values: [workspaceId],
  });
  return row === undefined
    ? null
    : { ...row, lastAt: row.lastAt?.toISOString() ?? null, nextAt: row.nextAt?.toISOString() ?? null };
}

/** Sets the URL and starts a full push: the new repository may be empty. */
export async function writeMirror(
  sql: Sql,
  { workspaceId, url, https }: { readonly workspaceId: string; readonly url: string; readonly https: boolean },
): Promise<void> {
  await sql.query(
    `INSERT INTO mirror (workspace_id, url, https) VALUES ($1, $2, $3)
      ON CONFLICT (workspace_id) DO UPDATE SET url = $2, https = $3, wanted = mirror.wanted + 1, claim = mirror.claim + 1,
        tries = 0, due_at = now(), last_at = CASE WHEN mirror.url = $2 THEN mirror.last_at END, last_error = NULL`,
    [workspaceId, url, https],
  );
}

/** A mirror that a worker has claimed. */
export interface MirrorTask {
  readonly workspaceId: string;
  readonly tenant: string;
  readonly url: string;
  readonly https: boolean;
  /** The number of the newest change that a success confirms. */
  readonly wanted: number;
  /** Failures before this attempt. */
  readonly tries: number;
  readonly claim: number;
}

/** Claims due mirrors. Adds 1 ms to now, since columns round times to whole milliseconds. */
export async function claimMirrors(
  sql: Sql,
  { batch, leaseMs, except }: { readonly batch: number; readonly leaseMs: number; readonly except: readonly string[] },
): Promise<readonly MirrorTask[]> {
  return sql.query<MirrorTask>({
    name: 'claim-mirrors',
    text: `UPDATE mirror m SET claim = m.claim + 1, due_at = now() + $2 * interval '1 ms'
      FROM workspace w WHERE w.id = m.workspace_id AND m.workspace_id IN (
        SELECT d.workspace_id FROM mirror d JOIN workspace o ON o.id = d.workspace_id
          WHERE d.done < d.wanted AND d.due_at <= now() + interval '1 ms' AND o.tenant_id <> ALL ($3)
          ORDER BY d.due_at LIMIT $1 FOR UPDATE OF d SKIP LOCKED)
      RETURNING m.workspace_id AS "workspaceId", w.tenant_id AS tenant, m.url, m.https, m.wanted, m.tries, m.claim`,
    values: [batch, leaseMs, except],
  });
}

/** Records the success, unless another worker has claimed the mirror. A change since the claim is sent at once. */
export async function recordMirrored(sql: Sql, { workspaceId, claim, wanted }: MirrorTask): Promise<void> {
  await sql.query({
    name: 'settle-mirror',
    text: `UPDATE mirror SET done = $3, tries = 0, last_at = now(), last_error = NULL, due_at = now()
      WHERE workspace_id = $1 AND claim = $2`,
    values: [workspaceId, claim, wanted],
  });
}

export async function postponeMirror(
  sql: Sql,
  { workspaceId, claim, wanted }: MirrorTask,
  { reason, afterMs }: { readonly reason: string | null; readonly afterMs: number },
): Promise<void> {
  await sql.query({
    name: 'put-off-mirror',
    text: `UPDATE mirror SET last_error = coalesce($3, last_error), tries = tries + CASE WHEN wanted = $5 AND $3 IS NOT NULL THEN 1 ELSE 0 END,
        due_at = CASE WHEN wanted = $5 THEN now() + $4 * interval '1 ms' ELSE now() END
      WHERE workspace_id = $1 AND claim = $2`,
    values: [workspaceId, claim, reason, afterMs, wanted],
  });
}
