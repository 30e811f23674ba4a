export { readAccount, setTimezone, whoAmI } from './accounts/account.js';
export { answerWithin, refuseOverload } from './accounts/answer-within.js';
export { authenticateGitKey, authenticateKey, type GitCaller, mintKey } from './accounts/api-keys.js';
export { audit, listAudit } from './accounts/audit.js';
export { avatarPath } from './accounts/avatar-path.js';
export { bootstrapAccount, renewBootstrapFile, writeBootstrapFile } from './accounts/bootstrap-account.js';
export {
  checkCliFormNonce,
  cliFormNonce,
  decideCliLogin,
  describeCliLogin,
  pollCliLogin,
  startCliLogin,
} from './accounts/cli-login.js';
export { devCaller } from './accounts/dev-caller.js';
export {
  claimIdempotencyKey,
  type HeldKey,
  isOutcomeUnknown,
  type KeptAnswer,
  LEASE_SECONDS,
  type RecordAnswer,
  releaseIdempotencyKey,
  renewIdempotencyKey,
  saveAnswer,
  saveAnswerInTransaction,
  sweepIdempotencyKeys,
} from './accounts/idempotency.js';
export { findInstallKeys, loadInstallKeys } from './accounts/install-keys.js';
export { acceptInvite, type DescribedInvite, describeInvite, makeInvite } from './accounts/invites.js';
export { countAttempt } from './accounts/limits.js';
export { type Browser, logIn } from './accounts/log-in.js';
export { changePassword } from './accounts/passwords.js';
export { equalSecrets, verifyRequestOrigin } from './accounts/primitives.js';
export {
  authenticateSession,
  endSessions,
  listSessions,
  logOut,
  readSession,
  SESSION_COOKIE,
  sessionCookie,
} from './accounts/sessions.js';
export { signUp } from './accounts/sign-up.js';
export { sweepAccounts } from './accounts/sweep.js';
export { withoutAccess } from './accounts/without-access.js';
export { assertMaySet, findSubject, readAvatar, removeAvatar, setAvatar } from './avatars.js';
export { findWorkspace, lockWorkspace, readPreview, requireNoPreview, type WorkspaceRow } from './find-workspace.js';
export { createKey, listKeys, revokeKey } from './keys.js';
export { type CreateInviteInput, createInvite, findInvite, revokeInvite } from './team/invites.js';
export { changeMember, findMember, listTeam, removeMember, transferAccount } from './team/members.js';
