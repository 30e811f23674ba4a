export { inviteMember } from './invite-member.js';
export { listNotifications } from './list-notifications.js';
export { sendTest } from './send-test.js';
export { rotateSigningSecret } from './sign.js';
export { notifyQueues } from './start-notify-loop.js';
