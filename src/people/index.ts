export { answerWithin, refuseOverload } from './accounts/answer-within.js';
export { audit } from './accounts/audit.js';
export { authenticateGitKey, authenticateKey, type GitCaller } from './accounts/authenticate-key.js';
export { authenticateSession } from './accounts/authenticate-session.js';
export { avatarPath } from './accounts/avatar-path.js';
export { bootstrapAccount } from './accounts/bootstrap-account.js';
export { changePassword } from './accounts/change-password.js';
export { checkCliFormNonce, cliFormNonce, decideCliLogin, describeCliLogin } from './accounts/cli/decide-cli-login.js';
export { pollCliLogin } from './accounts/cli/poll-cli-login.js';
export { startCliLogin } from './accounts/cli/start-cli-login.js';
export { type DescribedInvite, describeInvite } from './accounts/describe-invite.js';
export { devCaller } from './accounts/dev-caller.js';
export { endSessions, logOut } from './accounts/end-sessions.js';
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
export { acceptInvite, makeInvite } from './accounts/invites.js';
export { countAttempt } from './accounts/limits.js';
export { listAudit } from './accounts/list-audit.js';
export { listSessions, readSession } from './accounts/list-sessions.js';
export { type Browser, logIn } from './accounts/log-in.js';
export { mintKey } from './accounts/mint-key.js';
export { equalSecrets, verifyRequestOrigin } from './accounts/primitives.js';
export { readAccount } from './accounts/read-account.js';
export { SESSION_COOKIE, sessionCookie } from './accounts/session-cookie.js';
export { setTimezone } from './accounts/set-timezone.js';
export { signUp } from './accounts/sign-up.js';
export { sweepAccounts } from './accounts/sweep.js';
export { whoAmI } from './accounts/who-am-i.js';
export { withoutAccess } from './accounts/without-access.js';
export { renewBootstrapFile, writeBootstrapFile } from './accounts/write-bootstrap-file.js';
export { assertMaySet, findSubject } from './avatars/find-subject.js';
export { readAvatar } from './avatars/read-avatar.js';
export { removeAvatar, setAvatar } from './avatars/set-avatar.js';
export { findWorkspace, lockWorkspace, type WorkspaceRow } from './find-workspace.js';
export { createKey } from './keys/create-key.js';
export { listKeys } from './keys/list-keys.js';
export { revokeKey } from './keys/revoke-key.js';
export { readPreview, requireNoPreview } from './of-preview.js';
export { changeMember } from './team/change-member.js';
export { type CreateInviteInput, createInvite } from './team/create-invite.js';
export { findInvite } from './team/find-invite.js';
export { findMember } from './team/find-member.js';
export { listTeam } from './team/list-team.js';
export { removeMember } from './team/remove-member.js';
export { revokeInvite } from './team/revoke-invite.js';
export { transferAccount } from './team/transfer-account.js';
