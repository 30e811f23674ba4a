export { changeMember } from './change-member.js';
export { type CreateInviteInput, createInvite } from './create-invite.js';
export { findInvite } from './find-invite.js';
export { findMember } from './find-member.js';
export { listTeam } from './list-team.js';
export { removeMember } from './remove-member.js';
export { revokeInvite } from './revoke-invite.js';
export { transferAccount } from './transfer-account.js';
