import { z } from 'zod';
import { EMAIL, MAX_EMAIL } from '../shared/email.js';
import { ROLES } from '../shared/roles.js';
import { Me } from './accounts.js';
import { Next, Time, type Wire } from './common.js';

/** Lower case, so that one address is one person however it is written. */
export const Email = z.string().trim().toLowerCase().max(MAX_EMAIL).regex(EMAIL, 'must be an e-mail address');

/** An address of an existing account, which may predate the check of new addresses. */
const KnownEmail = z
  .string()
  .trim()
  .toLowerCase()
  .max(MAX_EMAIL)
  .regex(/^[^\s@]+@[^\s@]+$/, 'must be an e-mail address');

/** A new password. */
export const NewPassword = z.string().min(12, 'must have 12 characters at least').max(1_000);
/** A password to check. */
const Password = z.string().min(1).max(1_000);

export const SignUpBody = z.strictObject({
  email: Email,
  password: NewPassword,
  account: z.string().trim().min(1).max(100).optional().describe('The name of the account to make'),
  invite: z.string().min(1).max(200).optional().describe('The token of an invite into an account that is there'),
});

export const SignedUp = z
  .object({ ok: z.literal(true), next: z.string().describe('What to do now') })
  .meta({ id: 'SignedUp' });

export const LogInBody = z.strictObject({ email: KnownEmail, password: Password });

const SessionFields = z.object({
  id: z.string(),
  device: z.string().nullable().describe('What the browser or program calls itself'),
  address: z.string().nullable().describe('Where it was last used from'),
  createdAt: Time,
  lastUsedAt: Time,
  expiresAt: Time.describe('30 days after the last use'),
});

/** POST /api/auth/login and GET /api/auth/session */
export const SessionView = Me.extend({
  timezone: z.string().nullable().describe('What a cron expression means where nothing else says it'),
  session: SessionFields.nullable().describe('Null for an API key'),
}).meta({ id: 'Session' });
export type SessionView = Wire<typeof SessionView>;

export const SessionEntry = SessionFields.extend({ current: z.boolean().describe('The one that asks') });
export const SessionList = z.object({ sessions: z.array(SessionEntry), next: Next }).meta({ id: 'SessionList' });
export type SessionList = Wire<typeof SessionList>;

export const EndSessions = z.strictObject({
  id: z.string().min(1).max(100).optional().describe('One session'),
  others: z.union([z.boolean(), z.stringbool()]).optional().describe('All but the one that asks'),
});
export const Ended = z.object({ ok: z.literal(true), ended: z.number().int() }).meta({ id: 'EndedSessions' });

export const PasswordBody = z.strictObject({ current: Password, next: NewPassword });
export const TimezoneBody = z.strictObject({ timezone: z.string().min(1).max(64).nullable() });
export const Timezone = z.object({ ok: z.literal(true), timezone: z.string().nullable() }).meta({ id: 'Timezone' });
export const Done = z.object({ ok: z.literal(true) }).meta({ id: 'Done' });

export const CliLoginBody = z.strictObject({
  hostname: z
    .string()
    .trim()
    .min(1)
    .max(253)
    .regex(/^[^\p{C}]+$/u, 'must hold no control characters'),
});

export const CliLoginStarted = z
  .object({
    id: z.string().describe('Secret: its holder gets the key'),
    code: z.string().describe('For the person to compare'),
    verifyUrl: z.string().describe('Where a signed-in person decides'),
    expiresAt: Time,
    interval: z.number().int().describe('Seconds between two polls'),
  })
  .meta({ id: 'CliLoginStarted' });
export type CliLoginStarted = Wire<typeof CliLoginStarted>;

export const CliLoginParams = z.object({ id: z.string().min(1).max(255) });

export const CliLoginPolled = z
  .discriminatedUnion('status', [
    z.object({ status: z.enum(['pending', 'denied', 'expired']) }),
    z.object({
      status: z.literal('approved'),
      token: z.string().describe('An API key, given this once'),
      account: z.string(),
      email: z.string(),
      role: z.enum(ROLES),
    }),
  ])
  .meta({ id: 'CliLoginPolled' });
export type CliLoginPolled = Wire<typeof CliLoginPolled>;

const CliCode = z.string().min(1).max(32);
export const CliCodeQuery = z.object({ code: CliCode });
export const CliDecisionBody = z.strictObject({
  code: CliCode,
  decision: z.enum(['approve', 'deny']),
  nonce: z.string().max(100).optional().describe('Of the page’s form, which must carry it'),
});

export const CliLoginRequest = z
  .object({
    code: z.string(),
    hostname: z.string().describe('As the machine reports it'),
    address: z.string().nullable().describe('Where the request came from'),
    status: z.enum(['pending', 'approved', 'denied']),
    createdAt: Time,
    expiresAt: Time,
    account: z.string().describe('Of the key that an approval makes'),
    role: z.enum(ROLES),
  })
  .meta({ id: 'CliLoginRequest' });
export type CliLoginRequest = Wire<typeof CliLoginRequest>;

export const CliDecided = z
  .object({ ok: z.literal(true), status: z.enum(['approved', 'denied']) })
  .meta({ id: 'CliDecided' });

/** Loose, since mail programs add keys to a page's address. */
export const SignInQuery = z.looseObject({
  next: z.string().max(2_000).optional().describe('A path of this service to continue at'),
  error: z.string().max(50).optional(),
});
export const SignInForm = z.strictObject({ email: Email, password: Password, next: z.string().max(2_000).optional() });
