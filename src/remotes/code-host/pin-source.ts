import type { Sql } from '../../platform/db/contract.js';
import type { OpenedSecret } from '../../secrets/index.js';

/**
 * Pins a token to the repository that it was first used for, until the secret is stored again: otherwise a sender with
 * only the webhook's secret could name their own server in a payload and receive the token. Returns why the token may
 * not be used; null when it may.
 */
export async function pinSource(
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
