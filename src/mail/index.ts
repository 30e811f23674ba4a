export { escapeHtml } from './escape-html.js';
export { type MailOutcome, sendMail } from './send-mail.js';
