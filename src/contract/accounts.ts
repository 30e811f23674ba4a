import { z } from 'zod';
import { ROLES } from '../shared/roles.js';
import type { Wire } from './common.js';

const RoleName = z.enum(ROLES);

/** GET /api/me */
export const Me = z
  .object({
    account: z.string().describe('The tenant of every path'),
    name: z.string().describe('The account’s name as people write it'),
    owner: z.string().describe('The owner’s address'),
    role: RoleName,
    workspaces: z.array(z.string()).nullable().describe('The workspaces that the caller can access; null means all'),
    avatar: z.string().nullable().describe('The path of the person’s picture; it changes with the picture'),
    actor: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('person'), id: z.string(), email: z.string() }),
      z.object({ kind: z.literal('key'), id: z.string(), label: z.string(), prefix: z.string(), mintedBy: z.string() }),
    ]),
  })
  .meta({ id: 'Me' });
export type Me = Wire<typeof Me>;
