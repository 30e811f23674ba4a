import { z } from 'zod';
import { Next, Page, Time, type Wire } from './common.js';

/** GET …/history: a list, or with `id` one change. */
export const HistoryQuery = Page.extend({
  path: z.string().min(1).max(4_000).optional().describe('Only changes of this file'),
  id: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('One change, by its id, its git commit or the id that its deploy gave'),
});

const Change = z
  .object({
    id: z.string(),
    at: Time,
    by: z.object({ kind: z.string(), id: z.string(), label: z.string() }),
    via: z.enum(['deploy', 'push', 'edit', 'agent', 'rollback']),
    message: z.string(),
    paths: z.array(z.string()),
    gitCommit: z.string().nullable(),
    runId: z.string().nullable().describe('The run whose agent wrote'),
    commit: z.string().nullable().describe('The id that the deploy gave as commit, or the commit of a refused push'),
    refused: z.string().nullable().describe('Why a waiting push was refused; null for a change that went live'),
  })
  .meta({ id: 'Change' });

export type Change = Wire<typeof Change>;

export const ChangeListBody = z.object({ changes: z.array(Change), next: Next }).meta({ id: 'ChangeList' });
export type ChangeListBody = Wire<typeof ChangeListBody>;

export const FileChangeBody = z.object({
  path: z.string(),
  before: z.string().nullable(),
  after: z.string().nullable(),
  diff: z.array(z.object({ op: z.enum([' ', '+', '-']), text: z.string() })),
  binary: z.boolean(),
  truncated: z.boolean().describe('The answer was full: ask for this file by path'),
});
export type FileChangeBody = Wire<typeof FileChangeBody>;

export const ChangeDetailBody = Change.extend({ files: z.array(FileChangeBody) }).meta({ id: 'ChangeDetail' });
export type ChangeDetailBody = Wire<typeof ChangeDetailBody>;
