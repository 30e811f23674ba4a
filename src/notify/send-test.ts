import type { TestedNotification } from '../contract/notifications.js';
import type { Deps } from '../deps.js';
import { audit, withoutAccess } from '../people/index.js';
import { targetsIn } from '../runs/index.js';
import { newId } from '../shared/ids.js';
import type { Json } from '../shared/json.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { contentOf } from './content.js';
import { LOST_ACCESS, send } from './deliver.js';
import { recipientsOf } from './recipients.js';
import { requireFullAccess } from './require-full-access.js';

interface Row {
  readonly account: string;
  readonly accountNotify: Json;
  readonly workspaceNotify: Json;
  readonly workspaceId: string | null;
}

/**
 * Sends a test notification to the targets of a workspace or the account and returns each outcome. As with every
 * notification, members who have lost access get no mail; the response names them.
 */
export async function sendTest(
  deps: Deps,
  caller: Caller,
  { workspace }: { readonly workspace?: string | undefined },
): Promise<TestedNotification> {
  requireFullAccess(caller);
  const [row] = await deps.db.query<Row>(
    `SELECT t.name AS account, t.notify AS "accountNotify", v.index->'notify' AS "workspaceNotify", w.id AS "workspaceId"
      FROM tenant t LEFT JOIN workspace w ON w.tenant_id = t.id AND w.name = $2
        LEFT JOIN revision v ON v.workspace_id = w.id AND v.seq = w.live_seq WHERE t.id = $1`,
    [caller.tenant, workspace ?? null],
  );
  if (!row || (workspace !== undefined && row.workspaceId === null))
    throw new Refusal('not_found', 'no such workspace');
  const targets = { ...targetsIn([row.workspaceNotify, row.accountNotify]), events: null };
  const recipients = recipientsOf({ event: 'test', targets, deciders: [], members: [], onlyDeciders: false });
  if (recipients.length === 0)
    throw new Refusal('conflict', 'notify has no target: give it an email or a url first, in AGENTS.md or with PATCH');
  const content = contentOf({
    event: 'test',
    data: {},
    account: row.account,
    workspace: workspace ?? null,
    ...{ run: null, flow: null, step: null, title: null, ask: null, due: null, error: null, summary: null },
    at: new Date(deps.clock.now()).toISOString(),
  });
  await audit(deps.db, caller, 'notify.test', workspace ?? caller.tenant);
  const { workspaceId } = row;
  const lost = await withoutAccess(deps.db, { tenant: caller.tenant, workspaceId, emails: targets.emails });
  const common = { tenantId: caller.tenant, runId: null, park: null, content: content as unknown as Json };
  const results = await Promise.all(
    recipients.map(async ({ channel, target }): Promise<TestedNotification['results'][number]> => {
      if (channel === 'mail' && lost.has(target.toLowerCase()))
        return { channel, target, sent: false, reason: LOST_ACCESS };
      const outcome = await send(deps, { ...common, id: newId(), channel, target });
      return { channel, target, sent: outcome.sent, reason: outcome.sent ? null : outcome.reason };
    }),
  );
  return { results };
}
