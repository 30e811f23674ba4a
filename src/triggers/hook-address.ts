import type { HookUrls } from '../contract/triggers.js';
import type { Deps } from '../deps.js';
import { baseUrlOf } from '../shared/base-url.js';
import { deriveToken } from '../shared/tokens.js';

export interface HookPlace {
  readonly tenant: string;
  readonly workspace: { readonly id: string; readonly name: string };
  readonly flow: string;
}

/** Uses the workspace's id instead of its name, so that the token stays valid after a rename. */
export function hookFields({ workspace, flow }: Pick<HookPlace, 'workspace' | 'flow'>, generation: number): string[] {
  return [workspace.id, flow, String(generation)];
}

/** The URLs that external systems post to for this flow. A URL is enough to start the flow. */
export function addressesOf(deps: Pick<Deps, 'keys' | 'config'>, place: HookPlace, generation: number): HookUrls {
  const token = deriveToken(deps.keys.signing, 'hook', hookFields(place, generation));
  const path = `${place.tenant}/${place.workspace.name}/${place.flow}?token=${token}`;
  const base = baseUrlOf(deps.config);
  return { hookUrl: `${base}/api/hooks/${path}`, inboxUrl: `${base}/api/inbox/${path}` };
}
