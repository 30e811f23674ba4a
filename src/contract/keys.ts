import { z } from 'zod';
import { Next, Page, Time, type Wire } from './common.js';

const KeyRole = z.enum(['viewer', 'editor', 'admin']);
const DeployAccess = z.enum(['read', 'write']);

export const KeyBody = z
  .object({
    id: z.string(),
    label: z.string(),
    tenant: z.string(),
    role: KeyRole.describe('A key from before roles acts as admin, and says so'),
    prefix: z.string().describe('The second part of the key, by which people recognise it'),
    mintedBy: z.string(),
    createdAt: Time,
    lastUsedAt: Time.nullable().describe('Within a minute'),
    expiresAt: Time.nullable(),
    workspace: z.string().optional().describe('Of a deploy key: its one workspace'),
    access: DeployAccess.optional().describe('Of a deploy key: read is for clone, write for push too'),
  })
  .meta({ id: 'Key' });
export type KeyBody = Wire<typeof KeyBody>;

const Tenant = z.string().min(1).max(255).describe('The account; that of the caller when left out, and no other');

/** GET /api/keys */
export const KeysQuery = Page.extend({ tenant: Tenant.optional() });
export const KeyList = z.object({ keys: z.array(KeyBody), next: Next }).meta({ id: 'KeyList' });
export type KeyList = Wire<typeof KeyList>;

/** POST /api/keys */
export const MintKey = z.strictObject({
  label: z.string().trim().min(1).max(200),
  tenant: Tenant.optional(),
  role: KeyRole.optional().describe('editor when left out; never above the minter’s'),
  workspace: z.string().min(1).max(255).optional().describe('Makes it a deploy key: git, and this workspace only'),
  access: DeployAccess.optional().describe('Of a deploy key'),
  expiresAt: z.iso.datetime({ offset: true }).optional().describe('Never when left out'),
});

export const Minted = KeyBody.extend({ key: z.string().describe('The key itself; shown once') }).meta({
  id: 'MintedKey',
});
export type Minted = Wire<typeof Minted>;

const KeyId = z.string().min(1).max(255).describe('The key’s id');

/** DELETE /api/keys: the id in the query or in the body. */
export const RevokeKeyQuery = z.object({ id: KeyId.optional(), tenant: Tenant.optional() });
export const RevokeKeyBody = z.strictObject({ id: KeyId.optional(), tenant: Tenant.optional() });
