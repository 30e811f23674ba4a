export { escapeHtml } from './escape-html.js';
export type { MailOutcome } from './mail.js';
export { sendMail } from './send-mail.js';
