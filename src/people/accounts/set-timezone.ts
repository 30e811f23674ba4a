import type { Deps } from '../../deps.js';
import { isTimeZone } from '../../format/values/time-zone.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { audit } from './audit.js';

/** Sets the time zone of cron expressions for flows and workspaces without their own. Null clears it. */
export async function setTimezone(deps: Pick<Deps, 'db'>, caller: Caller, timezone: string | null): Promise<void> {
  if (timezone !== null && !isTimeZone(timezone))
    throw new Refusal('refused', `timezone: "${timezone}" is not a time zone: use a name such as Europe/Berlin`);
  await deps.db.transaction(async (sql) => {
    await sql.query('UPDATE member SET timezone = $2 WHERE id = $1', [caller.person?.id ?? null, timezone]);
    await audit(sql, caller, 'timezone.set', caller.person?.id ?? '', { timezone });
  });
}
