import { z } from 'zod';
import { AnyJson, Usd, type Wire } from './common.js';

export const Notify = z
  .strictObject({
    url: z.string().max(2_000).optional().describe('Where notifications are posted'),
    email: z
      .union([z.string().max(2_000), z.array(z.string().max(254)).max(50)])
      .optional()
      .describe('Who gets them by mail'),
    events: z.array(z.string().max(100)).max(50).optional().describe('Which ones'),
  })
  .describe('Who is notified, and of which events');

/** GET /api/account */
export const AccountBody = z
  .object({
    account: z.string().describe('The tenant of every path'),
    name: z.string().describe('Its name as people write it'),
    timezone: z.string().nullable(),
    budget: Usd.nullable().describe('The most that a calendar month may cost, USD'),
    notify: AnyJson.describe('{ url?, email?, events }; null when there is none'),
    avatar: z.string().nullable().describe('The path of the account’s picture'),
  })
  .meta({ id: 'Account' });
export type AccountBody = Wire<typeof AccountBody>;

/** PATCH /api/account: sets the keys that are sent; null clears one. */
export const ChangeAccount = z.strictObject({
  timezone: z.string().min(1).max(64).nullable().optional(),
  budget: z.number().nonnegative().max(1_000_000_000).nullable().optional().describe('USD a calendar month'),
  notify: Notify.nullable().optional(),
});
export type ChangeAccount = z.infer<typeof ChangeAccount>;
