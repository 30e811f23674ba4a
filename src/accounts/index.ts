export { audit } from './audit.js';
export { authenticateKey } from './authenticate-key.js';
export { bootstrapAccount } from './bootstrap-account.js';
export { devCaller } from './dev-caller.js';
export {
  claimIdempotencyKey,
  type KeptAnswer,
  keepAnswer,
  releaseIdempotencyKey,
  sweepIdempotencyKeys,
} from './idempotency.js';
export { findInstallKeys, loadInstallKeys } from './install-keys.js';
export { acceptInvite, makeInvite } from './invites.js';
export { mintKey } from './mint-key.js';
export { equalSecrets, verifyRequestOrigin } from './primitives.js';
export { whoAmI } from './who-am-i.js';
export { renewBootstrapFile, writeBootstrapFile } from './write-bootstrap-file.js';
