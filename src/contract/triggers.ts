import { z } from 'zod';
import { Next, type Wire, WorkspaceParams } from './common.js';

const Name = z.string().max(255);
const duplicate = z.literal(true).optional().describe('It came before, and this is the answer of the first time');

export const HookParams = z.object({ tenant: Name, ws: Name, flow: Name.describe('The flow’s name') });
export const HookQuery = z.looseObject({ token: z.string().max(200).default('') });

export const OfHook = WorkspaceParams.extend({ flow: z.string().min(1).max(255).describe('The flow’s name') });
export const OfDelivery = OfHook.extend({ id: z.string().min(1).max(255).describe('The delivery’s id') });

export const HookStarted = z
  .union([
    z.object({ ok: z.literal(true), runId: z.string(), duplicate }),
    z.object({
      ok: z.literal(true),
      debounced: z.literal(true).describe('One run of a burst: it begins when nothing more has come for a while'),
      startsAt: z.string(),
      duplicate,
    }),
  ])
  .meta({ id: 'HookStarted' });
export type HookStarted = Wire<typeof HookStarted>;

export const HookPassed = z
  .union([
    z.object({ challenge: z.string() }),
    z.object({ ok: z.literal(true), filtered: z.literal(true) }),
    z.object({ ok: z.literal(true), skipped: z.literal(true), duplicate }),
  ])
  .meta({ id: 'HookPassed' });
export type HookPassed = Wire<typeof HookPassed>;

export const MailStarted = z
  .union([
    HookStarted,
    z.object({
      ok: z.literal(true),
      mails: z.array(z.union([HookStarted, HookPassed])).describe('Of several mails in one request each answer'),
    }),
  ])
  .meta({ id: 'MailStarted' });
export type MailStarted = Wire<typeof MailStarted>;

export const HookUrls = z
  .object({ hookUrl: z.string(), inboxUrl: z.string() })
  .meta({ id: 'HookUrls' })
  .describe('The holder of an address may start the flow');

export type HookUrls = Wire<typeof HookUrls>;

export const Deliveries = z
  .object({
    deliveries: z.array(
      z.object({
        id: z.string(),
        at: z.string(),
        kind: z.enum(['webhook', 'email', 'event']),
        outcome: z.enum([
          'started',
          'duplicate',
          'debounced',
          'filtered',
          'skipped',
          'loop',
          'invalid-signature',
          'refused',
        ]),
        detail: z.string().nullable().describe('Why it was refused, or what of it was left out'),
        runId: z.string().nullable(),
        deliveryId: z.string().nullable().describe('The sender’s own id of it'),
        address: z.string().nullable(),
        redeliveryOf: z.string().nullable(),
      }),
    ),
    next: Next,
  })
  .meta({ id: 'Deliveries' });
export type Deliveries = Wire<typeof Deliveries>;

export const Redelivered = z.object({ ok: z.literal(true), runId: z.string() }).meta({ id: 'Redelivered' });
export type Redelivered = Wire<typeof Redelivered>;
