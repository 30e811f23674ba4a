import { z } from 'zod';
import { Email } from './auth.js';
import { Next, Time, type Wire } from './common.js';

const MemberRole = z.enum(['viewer', 'editor', 'admin']);
const Scope = z
  .array(z.string().min(1).max(255))
  .min(1, 'name one workspace at least, or say null for all of them')
  .max(1_000)
  .nullable();

const Workspaces = z.array(z.string()).nullable().describe('Their names; null means all');

export const MemberBody = z
  .object({
    id: z.string(),
    email: z.string(),
    role: z.enum(['viewer', 'editor', 'admin', 'owner']),
    workspaces: Workspaces,
    joinedAt: Time,
    lastSeenAt: Time.nullable(),
    avatar: z.string().nullable().describe('The path of their picture; it changes with the picture'),
  })
  .meta({ id: 'Member' });
export type MemberBody = Wire<typeof MemberBody>;

const InviteBody = z
  .object({
    id: z.string(),
    email: z.string(),
    role: MemberRole,
    workspaces: Workspaces,
    createdAt: Time,
    expiresAt: Time,
  })
  .meta({ id: 'Invite' });
export type InviteBody = Wire<typeof InviteBody>;

/** GET /api/team */
export const TeamBody = z
  .object({ members: z.array(MemberBody), invites: z.array(InviteBody), next: Next })
  .meta({ id: 'Team' })
  .describe('One list for `limit` and `cursor`: the members, then the invites');
export type TeamBody = Wire<typeof TeamBody>;

/** POST /api/team */
export const InviteMember = z.strictObject({
  email: Email.describe('The only address that can accept the invite'),
  role: MemberRole.default('editor'),
  workspaces: Scope.optional().describe('The only ones they see; all when left out'),
  send: z.boolean().default(true).describe('False sends no mail: the link is in the answer either way'),
});

export const Invited = InviteBody.extend({
  link: z.string().describe('Where the invite is accepted; shown once'),
  sent: z.boolean().describe('Whether the mail provider took it'),
  reason: z.string().optional().describe('Why it was not sent'),
}).meta({ id: 'Invited' });
export type Invited = Wire<typeof Invited>;

/** PATCH /api/team/members/<id> */
export const ChangeMember = z
  .strictObject({
    role: MemberRole.optional(),
    workspaces: Scope.optional().describe('Their names, or null for all'),
  })
  .refine((body) => body.role !== undefined || body.workspaces !== undefined, 'give role, workspaces or both');

export const ChangedMember = MemberBody.extend({
  invitesRevoked: z.number().int().describe('Open invites of theirs that ended, since they may do less now'),
}).meta({ id: 'ChangedMember' });
export type ChangedMember = Wire<typeof ChangedMember>;

export const RemovedMember = z
  .object({ ok: z.literal(true), id: z.string(), email: z.string(), keysRevoked: z.number().int() })
  .meta({ id: 'RemovedMember' });
export type RemovedMember = Wire<typeof RemovedMember>;

/** POST /api/team/transfer */
export const TransferAccount = z.strictObject({
  to: z.string().min(1).max(254).describe('The member who becomes the owner: their id or address'),
});

export const Transferred = z
  .object({ ok: z.literal(true), owner: z.object({ id: z.string(), email: z.string() }) })
  .meta({ id: 'Transferred' });
export type Transferred = Wire<typeof Transferred>;

export const MemberParams = z.object({ id: z.string().min(1).max(255).describe('The member’s id') });
export const InviteParams = z.object({ id: z.string().min(1).max(255).describe('The invite’s id') });
