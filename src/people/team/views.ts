import type { InviteBody, MemberBody } from '../../contract/team.js';
import type { Caller } from '../../shared/roles.js';
import { avatarPath } from '../accounts/avatar-path.js';
import type { MemberRow } from './find-member.js';
import { type ScopeColumns, scopeAsSeen, scopeOf } from './scope.js';

export interface InviteRow extends ScopeColumns {
  readonly id: string;
  readonly email: string;
  readonly role: InviteBody['role'];
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export function memberView(caller: Caller, row: MemberRow): MemberBody {
  const { id, email, role, joinedAt, lastSeenAt, picture } = row;
  return {
    id,
    email,
    role,
    workspaces: scopeAsSeen(caller, scopeOf(row)),
    joinedAt: joinedAt.toISOString(),
    lastSeenAt: lastSeenAt?.toISOString() ?? null,
    avatar: avatarPath('user', id, picture),
  };
}

export function inviteView(caller: Caller, row: InviteRow): InviteBody {
  const { id, email, role, createdAt, expiresAt } = row;
  return {
    id,
    email,
    role,
    workspaces: scopeAsSeen(caller, scopeOf(row)),
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
  };
}
