import { z } from 'zod';
import type { Wire } from './common.js';

export const AvatarParams = z.object({
  kind: z.string().min(1).max(50).describe('user, workspace or account'),
  id: z.string().min(1).max(255).describe('The person’s own id, the workspace’s name or the account'),
});

/** The picture's address as `avatar` gives it. */
export const AvatarQuery = z.object({ v: z.string().max(255).optional() });

export const AvatarSet = z
  .object({ ok: z.literal(true), url: z.string().describe('Its path; v changes with the picture') })
  .meta({ id: 'AvatarSet' });
export type AvatarSet = Wire<typeof AvatarSet>;
