export { answerWithin, refuseOverload } from './answer-within.js';
export { audit } from './audit.js';
export { authenticateGitKey, authenticateKey, type GitCaller } from './authenticate-key.js';
export { authenticateSession } from './authenticate-session.js';
export { avatarPath } from './avatar-path.js';
export { bootstrapAccount } from './bootstrap-account.js';
export { changePassword } from './change-password.js';
export { checkCliFormNonce, cliFormNonce, decideCliLogin, describeCliLogin } from './cli/decide-cli-login.js';
export { pollCliLogin } from './cli/poll-cli-login.js';
export { startCliLogin } from './cli/start-cli-login.js';
export { type DescribedInvite, describeInvite } from './describe-invite.js';
export { devCaller } from './dev-caller.js';
export { endSessions, logOut } from './end-sessions.js';
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
} from './idempotency.js';
export { findInstallKeys, loadInstallKeys } from './install-keys.js';
export { acceptInvite, makeInvite } from './invites.js';
export { countAttempt } from './limits.js';
export { listAudit } from './list-audit.js';
export { listSessions, readSession } from './list-sessions.js';
export { type Browser, logIn } from './log-in.js';
export { mintKey } from './mint-key.js';
export { equalSecrets, verifyRequestOrigin } from './primitives.js';
export { readAccount } from './read-account.js';
export { SESSION_COOKIE, sessionCookie } from './session-cookie.js';
export { setTimezone } from './set-timezone.js';
export { signUp } from './sign-up.js';
export { sweepAccounts } from './sweep.js';
export { whoAmI } from './who-am-i.js';
export { withoutAccess } from './without-access.js';
export { renewBootstrapFile, writeBootstrapFile } from './write-bootstrap-file.js';
