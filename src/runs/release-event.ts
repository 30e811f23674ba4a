import type { Released } from '../contract/runs.js';
import type { Deps } from '../deps.js';
import { announceRuns, appendEvent, enqueueOutbox } from '../engine/index.js';
import { audit } from '../people/index.js';
import { toJson } from '../shared/exact-json.js';
import { failpoint } from '../shared/failpoint.js';
import type { Json } from '../shared/json.js';
import { Refusal } from '../shared/refusal.js';
import { checkToken } from '../shared/tokens.js';
import { type OpenPark, openParks, parkTitle } from './run-rows.js';

/** The address at which a run waits for an event, unverified. */
export interface EventAddress {
  readonly tenant: string;
  readonly runId: string;
  readonly token: string;
}

export interface ReleaseEventInput extends EventAddress {
  /** A step's id or number; without it the only open event step. */
  readonly step?: string | undefined;
  readonly payload: Json;
  readonly address?: string | null;
}

const BY = { kind: 'event', id: 'event', label: 'an external event' } as const;

/** The text of the trace, verbatim from the contract (section 2). */
const RELEASED = 'approved by an external event';

const refused = (): Refusal => new Refusal('unauthenticated', 'the token is not valid here');

/** Refuses an address whose token does not belong to a run of its account, with the same error for every cause. */
export async function requireEventToken(deps: Deps, { tenant, runId, token }: EventAddress): Promise<void> {
  if (!checkToken(deps.keys.signing, 'event', [runId], token)) throw refused();
  const run = await deps.db.prisma.run.findFirst({ select: { id: true }, where: { id: runId, tenantId: tenant } });
  if (!run) throw refused();
}

/**
 * Releases a run that waits for an event. The payload becomes the step's `eventPayload`. A wrong token, an unknown run
 * and an unknown account get the same refusal. The workspace's name in the address may be an old one. An event for a
 * run that does not wait is a conflict.
 */
export async function releaseEvent(deps: Deps, input: ReleaseEventInput): Promise<Released> {
  if (!checkToken(deps.keys.signing, 'event', [input.runId], input.token)) throw refused();
  const step = await deps.db.transaction(async (sql) => {
    const [run] = await sql.query<{ ended: boolean; workspace: string }>(
      `SELECT r.finished_at IS NOT NULL OR r.mode = 'eval' AS ended, w.name AS workspace FROM run r JOIN workspace w ON w.id = r.workspace_id
        WHERE r.id = $1 AND r.tenant_id = $2 FOR UPDATE OF r`,
      [input.runId, input.tenant],
    );
    if (!run) throw refused();
    const park = pickPark(run.ended ? [] : await openParks(sql, input.runId, 'event'), input.step);
    await sql.query(
      `UPDATE park SET decided_at = now(), decision = 'event', payload = $2,
        decided_by = '{"kind":"event","id":"event","label":"an external event"}' WHERE id = $1 AND decided_at IS NULL`,
      [park.id, toJson(input.payload)],
    );
    const { item, round } = park;
    await appendEvent(sql, input.runId, {
      type: 'event.received',
      data: { step: park.step, item, round, park: park.id, text: RELEASED },
    });
    const by = { tenant: input.tenant, actor: BY, address: input.address ?? null };
    await audit(sql, by, 'run.event', input.runId, { step: park.step, workspace: run.workspace });
    await enqueueOutbox(sql, input.runId, 'event', park.id);
    return park.step;
  });
  failpoint('decision-committed');
  void announceRuns(deps, [input.runId]);
  return { ok: true, runId: input.runId, step };
}

function pickPark(open: readonly OpenPark[], step: string | undefined): OpenPark {
  const meant =
    step === undefined ? open : open.filter((park) => park.step === step || String(parkTitle(park).n) === step);
  const [first] = meant;
  if (!first) {
    const who = step === undefined || open.length === 0 ? 'the run' : `step ${step}`;
    throw new Refusal('conflict', `${who} is not waiting on an event`);
  }
  if (meant.length === 1) return first;
  const list = meant.map((park) => ({ step: parkTitle(park).n, id: park.step, title: parkTitle(park).title }));
  const names = list.map((one) => one.id).join(', ');
  throw new Refusal('conflict', `more than one step waits on an event: ${names}; add &step=<id>`, { waiting: list });
}
