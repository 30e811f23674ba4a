import type { Deps } from '../../deps.js';
import { baseUrlOf } from '../../shared/base-url.js';
import { deriveToken } from '../../shared/tokens.js';

/**
 * The URL to post an event to that a step waits for. The token is derived from the run's id under the install key.
 * Without a public URL it is the listening address, which works for callers on this machine.
 */
export function releaseUrlOf(
  deps: Deps,
  run: { readonly id: string; readonly tenantId: string; readonly workspace: string },
  step: string,
): string {
  const token = deriveToken(deps.keys.signing, 'event', [run.id]);
  return `${baseUrlOf(deps.config)}/api/events/${run.tenantId}/${run.workspace}/${run.id}?token=${token}&step=${step}`;
}

export async function releaseUrl(
  lane: {
    readonly deps: Deps;
    readonly run: { readonly id: string; readonly tenantId: string; readonly workspaceId: string };
  },
  step: string,
): Promise<string> {
  const [row] = await lane.deps.db.query<{ name: string }>('SELECT name FROM workspace WHERE id = $1', [
    lane.run.workspaceId,
  ]);
  return releaseUrlOf(lane.deps, { ...lane.run, workspace: row?.name ?? '' }, step);
}
