import { z } from 'zod';
import { AnyJson, Next, Page, Time, type Wire } from './common.js';

export const TranscriptQuery = Page.extend({
  step: z.string().min(1).max(200).describe('The step’s number or id'),
  item: z.coerce.number().int().min(0).max(100_000).default(0).describe('Of an each, from 1'),
  round: z.coerce.number().int().min(1).max(100_000).optional().describe('The newest when left out'),
  attempt: z.coerce.number().int().min(1).max(100_000).optional().describe('The newest when left out'),
  epoch: z.coerce.number().int().min(0).max(100_000).optional().describe('Only what was said since that compaction'),
});

export const TranscriptPage = z
  .object({
    step: z.string(),
    item: z.number().int(),
    round: z.number().int(),
    attempt: z.number().int(),
    messages: z.array(
      z.object({
        seq: z.number().int(),
        epoch: z.number().int().describe('Compactions before it'),
        role: z.enum(['user', 'assistant', 'tool']),
        text: z.string(),
        calls: z.array(AnyJson),
        results: z.array(AnyJson),
        reasoning: z
          .string()
          .optional()
          .describe('What the model reasoned before it answered, where its provider shows it'),
        why: z
          .string()
          .optional()
          .describe('Why the engine said it: repair, nudge, or compacted, which begins an epoch'),
      }),
    ),
    next: Next,
  })
  .meta({ id: 'Transcript' });
export type TranscriptPage = Wire<typeof TranscriptPage>;

export const EventsQuery = Page.extend({
  after: z.coerce.number().int().min(0).max(999_999_999).optional().describe('Only those after this seq'),
  step: z.string().min(1).max(200).optional().describe('Only those of this step, by its id'),
});

export const EventPage = z
  .object({
    events: z.array(
      z.looseObject({
        seq: z.number().int(),
        step: z.string().nullable(),
        at: Time,
        kind: z.string(),
        text: z.string(),
      }),
    ),
    next: Next,
  })
  .meta({ id: 'RunEvents' });
export type EventPage = Wire<typeof EventPage>;

export const ArchiveQuery = z.object({
  agent: z.string().min(1).max(200).describe('The agent’s name'),
  path: z.string().min(1).max(4_096).describe('The path below outputs/, as the step’s files list it'),
});
