export { inviteMember } from './invite-member.js';
export { listNotifications } from './list-notifications.js';
export { rotateSigningSecret } from './rotate-signing-secret.js';
export { sendTest } from './send-test.js';
export { startNotifyLoop } from './start-notify-loop.js';
