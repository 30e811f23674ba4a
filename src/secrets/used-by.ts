import type { Sql } from '../platform/db/contract.js';
import type { Caller } from '../shared/roles.js';

/** A live revision's file that names a secret. */
export interface SecretUse {
  readonly secret: string;
  /** The workspace whose vault it reads first: of a preview the one that it previews. */
  readonly vault: string;
  readonly workspace: string;
  readonly path: string;
}

/** Agents by their `secrets:`, tools by their placeholders, flows by their own, their steps' and their signature's. */
const USES = `
  WITH live AS (
    SELECT w.name, coalesce(w.preview_of, w.id) AS vault, p.body, 'flows/' || (p.body->>'flow') || '.md' AS flow
    FROM workspace w
    JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq
    CROSS JOIN LATERAL jsonb_each_text(plans_at(r.workspace_id, r.seq, library_of(w.tenant_id), r.plans)) AS target (key, plan)
    JOIN plan p ON p.workspace_id = w.id AND p.id = target.plan
    WHERE w.tenant_id = $1 AND ($2::text[] IS NULL OR w.name = ANY($2)))
  SELECT DISTINCT use.secret, live.vault, live.name AS workspace, use.path FROM live CROSS JOIN LATERAL (
    SELECT agent.value->>'path' AS path, secret FROM jsonb_each(body->'agents') AS agent,
      jsonb_array_elements_text(agent.value->'secrets') AS secret
    UNION SELECT tool->>'path', secret FROM jsonb_each(body->'agents') AS agent,
      jsonb_array_elements(agent.value->'tools') AS tool, jsonb_array_elements_text(tool->'secrets') AS secret
    UNION SELECT flow, named #>> '{}' FROM jsonb_path_query(body, 'lax $.secrets[*]') AS named
    UNION SELECT flow, named #>> '{}' FROM jsonb_path_query(body, 'lax $.nodes[*].secrets[*]') AS named
    UNION SELECT flow, named #>> '{}' FROM jsonb_path_query(body, 'lax $.nodes[*].branches[*].secrets[*]') AS named
    UNION SELECT flow, body->'trigger'->>'signing_secret' WHERE body->'trigger' ? 'signing_secret'
  ) AS use ORDER BY 3, 4, 1`;

/** Who names secrets in the live revisions of the workspaces that the caller sees. */
export function secretUses(
  sql: Sql,
  { tenant, workspaces }: Pick<Caller, 'tenant' | 'workspaces'>,
): Promise<SecretUse[]> {
  return sql.query<SecretUse>({ name: 'secret-uses', text: USES, values: [tenant, workspaces] });
}
