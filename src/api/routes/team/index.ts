import type { Route } from '../../define-route.js';
import { deleteMember, patchMember } from './change-members.js';
import { deleteInvite, postInvite } from './invites.js';
import { getJoin, postJoin } from './join.js';
import { getTeam } from './list-team.js';
import { postTransfer } from './transfer-account.js';

export const teamRoutes: readonly Route[] = [
  getTeam,
  postInvite,
  deleteInvite,
  patchMember,
  deleteMember,
  postTransfer,
  getJoin,
  postJoin,
];
