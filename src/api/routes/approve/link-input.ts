import type { Context } from 'hono';
import { type OpenLinkInput, requireLink, requireOwnName } from '../../../runs/index.js';
import { clientAddress } from '../../auth/client-address.js';
import type { AppEnv, GuardedEnv, OpenEnv } from '../../env.js';

/** The link of the address, unchecked: invalid values get the same refusal as a wrong token. */
export function linkInput(c: Context): OpenLinkInput {
  const asked = (name: string) => c.req.query(name) ?? '';
  return {
    tenant: c.req.param('tenant') ?? '',
    runId: c.req.param('id') ?? '',
    park: asked('park'),
    to: asked('to'),
    token: asked('token'),
    address: clientAddress(c as Context<AppEnv>),
  };
}

/** Requires a valid link for the workspace in its path, before the input is validated. */
export async function findLink(c: Context<GuardedEnv> | Context<OpenEnv>): Promise<void> {
  const link = linkInput(c);
  await requireLink(c.var.deps, link);
  await requireOwnName(c.var.deps, { ...link, workspace: c.req.param('ws') ?? '' });
}
