import { z } from 'zod';
import { Next, Time, type Wire } from './common.js';

const Notification = z.object({
  id: z.string().describe('The same at every try: the header webhook-id, and the mail’s Message-ID'),
  event: z.string(),
  channel: z.string().describe('mail or post'),
  target: z.string(),
  subject: z.string(),
  workspace: z.string().nullable(),
  run: z.string().nullable(),
  state: z.string().describe('pending, sent, failed, or dropped when it was out of date'),
  tries: z.number().int(),
  createdAt: Time,
  nextAt: Time.nullable(),
  endedAt: Time.nullable(),
  lastError: z.string().nullable(),
});

export type Notification = Wire<typeof Notification>;

export const NotificationList = z
  .object({ notifications: z.array(Notification), next: Next })
  .meta({ id: 'NotificationList' });
export type NotificationList = Wire<typeof NotificationList>;

export const TestNotification = z.strictObject({
  workspace: z.string().min(1).max(255).optional().describe('Whose targets; the account’s when left out'),
});

export const TestedNotification = z.object({
  results: z.array(
    z.object({ channel: z.string(), target: z.string(), sent: z.boolean(), reason: z.string().nullable() }),
  ),
});
export type TestedNotification = Wire<typeof TestedNotification>;

export const SigningSecret = z.object({
  secret: z.string().describe('whsec_…, shown this once; POSTs are signed under the last one too for a day'),
});
export type SigningSecret = Wire<typeof SigningSecret>;
