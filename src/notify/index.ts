export { inviteMember } from './invite-member.js';
export { listNotifications } from './list-notifications.js';
export { rotateSigningSecret } from './rotate-signing-secret.js';
export { sendTest } from './send-test.js';
export { notifyQueues } from './start-notify-loop.js';
