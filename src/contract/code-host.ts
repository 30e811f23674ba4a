import { z } from 'zod';
import { Next, Time, type Wire } from './common.js';

const Name = z.string().max(255);

export const PushParams = z.object({ tenant: Name, ws: Name });
/** Loose, since faults are reported only after the signature is checked: the handler then refuses unknown keys. */
export const PushQuery = z.looseObject({
  branch: z.string().min(1).max(1_000).default('main').describe('The branch that is deployed'),
  dir: z.string().max(1_000).default('').describe('The folder of the repository that is the workspace'),
});

const duplicate = z.literal(true).optional().describe('It came before');

export const PushKept = z
  .object({ ok: z.literal(true), id: z.string(), commit: z.string(), duplicate })
  .meta({ id: 'CodePushKept' });
export type PushKept = Wire<typeof PushKept>;
export const PushPassed = z
  .union([
    z.object({ ok: z.literal(true), ping: z.literal(true) }),
    z.object({ ok: z.literal(true), skipped: z.string().describe('Why nothing is to be done') }),
  ])
  .meta({ id: 'CodePushPassed' });
export type PushPassed = Wire<typeof PushPassed>;

/**
 * `pending` and `waiting` (until live runs have ended) are not final; `superseded` means that a newer push came first.
 * The last state is that of the newest request without a valid signature.
 */
const PushState = z.enum([
  'pending',
  'waiting',
  'applied',
  'unchanged',
  'refused',
  'failed',
  'superseded',
  'invalid-signature',
]);
export type PushState = Wire<typeof PushState>;

const CodePush = z
  .object({
    id: z.string(),
    at: Time,
    state: PushState,
    detail: z.string().nullable().describe('Why it waits, was refused or failed'),
    host: z.enum(['github', 'gitlab', 'gitea']).nullable(),
    repository: z.string().nullable(),
    branch: z.string().nullable(),
    dir: z.string().nullable(),
    commit: z.string().nullable(),
    message: z.string().nullable(),
    authors: z.array(z.string()),
    revision: z.string().nullable().describe('The revision in history'),
    tries: z.number().int(),
    nextAt: Time.nullable().describe('When it is tried again'),
    address: z.string().nullable(),
  })
  .meta({ id: 'CodePush' });

export type CodePush = Wire<typeof CodePush>;

export const CodePushes = z.object({ pushes: z.array(CodePush), next: Next }).meta({ id: 'CodePushes' });
export type CodePushes = Wire<typeof CodePushes>;
