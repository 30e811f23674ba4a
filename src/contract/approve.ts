import { z } from 'zod';
import { AnyJson, Time, type Wire } from './common.js';
import { Gate, Item } from './runs.js';

export const ApproveParams = z.object({
  tenant: z.string().max(255),
  ws: z.string().max(255),
  id: z.string().max(255).describe('The run’s id'),
});

/** The query of a mailed link. */
export const ApproveQuery = z.object({
  token: z.string().max(200).default(''),
  park: z.string().max(1_000).default('').describe('The gate that the link was made for'),
  to: z.string().max(320).default('').describe('Whom it was made for: an address, or webhook'),
  decision: z.string().max(20).optional().describe('Chooses a button of the page, and decides nothing'),
});

export const LinkVote = z.strictObject({
  decision: z.enum(['approve', 'reject']),
  note: z.string().max(4_000).optional(),
  reason: z.string().max(4_000).optional(),
  form: z.record(z.string().max(200), AnyJson).optional().describe('What the gate’s form asks for'),
  edits: z.record(z.string().max(200), AnyJson).optional().describe('New work of steps that the gate’s edit: names'),
  round: z.number().int().positive().optional().describe('gate.round as it was read: 409 when it is another one'),
  digest: z.string().max(200).optional().describe('Of what was read: when that has changed since, 409'),
  nonce: z.string().max(200).optional().describe('What the page’s form carries'),
});

/** The page's form: its fields are `form.<name>` and `edit.<step>`, each a text. */
export const LinkForm = z.record(z.string().max(300), z.unknown());
export type LinkVote = z.infer<typeof LinkVote>;

export const OpenedLink = Gate.extend({
  workspace: z.string(),
  runId: z.string(),
  flow: z.string(),
  step: z.number().int(),
  id: z.string().describe('The step’s id'),
  title: z.string(),
  item: Item.optional(),
  since: Time,
  due: Time.nullable(),
  to: z.string(),
  decision: z
    .object({ decision: z.string(), by: z.string().nullable(), at: Time, note: z.string().nullable() })
    .nullable()
    .describe('Null while it waits'),
  yours: z.object({ decision: z.string(), at: Time }).nullable().describe('The recipient’s own vote, once counted'),
  digest: z.string().describe('Of all that is decided: send it with the decision, and what has changed since is not'),
  nonce: z.string(),
}).meta({ id: 'OpenedLink' });
export type OpenedLink = Wire<typeof OpenedLink>;
