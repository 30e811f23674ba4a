import type { Deps } from '../deps.js';
import { baseUrlOf } from '../shared/base-url.js';
import { deriveToken } from '../shared/tokens.js';

export interface HookAddresses {
  readonly hookUrl: string;
  readonly inboxUrl: string;
}

export interface HookPlace {
  readonly tenant: string;
  readonly workspace: { readonly id: string; readonly name: string };
  readonly flow: string;
}

/** Of the workspace's id and not of its name: after a rename the token is good under the new path. */
export function hookFields({ workspace, flow }: Pick<HookPlace, 'workspace' | 'flow'>, generation: number): string[] {
  return [workspace.id, flow, String(generation)];
}

/** Where the outside posts to for this flow. Whoever has an address may start the flow. */
export function addressesOf(deps: Pick<Deps, 'keys' | 'config'>, place: HookPlace, generation: number): HookAddresses {
  const token = deriveToken(deps.keys.signing, 'hook', hookFields(place, generation));
  const rest = `${place.tenant}/${place.workspace.name}/${place.flow}?token=${token}`;
  const base = baseUrlOf(deps.config);
  return { hookUrl: `${base}/api/hooks/${rest}`, inboxUrl: `${base}/api/inbox/${rest}` };
}
