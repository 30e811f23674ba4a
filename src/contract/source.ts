import { z } from 'zod';
import { Next, Page, Time, type Wire } from './common.js';
import { DeployResultBody, IssueBody } from './deploys.js';
import { FileBody } from './files.js';

const Kind = z.enum(['workspace', 'agent', 'flow', 'eval', 'tool', 'skill', 'knowledge', 'memory', 'other']);

const SourceEntryBody = z
  .object({
    path: z.string(),
    sha: z.string().describe('The git object id of the blob; also the ETag'),
    size: z.number().int(),
    kind: Kind,
    writtenBy: z.enum(['person', 'agent', 'deploy']),
    updatedAt: Time,
  })
  .meta({ id: 'SourceEntry' });

export type SourceEntryBody = Wire<typeof SourceEntryBody>;

/** GET …/source */
export const SourceTreeBody = z
  .object({ files: z.array(SourceEntryBody), next: Next, revision: z.string().nullable() })
  .meta({ id: 'SourceTree' });
export type SourceTreeBody = Wire<typeof SourceTreeBody>;

/** GET …/source?path= */
export const SourceFileBody = SourceEntryBody.extend({
  content: z.string().optional().describe('When the file is text'),
  contentBase64: z.string().optional().describe('When it is not'),
  issues: z.array(IssueBody),
  revision: z.string().nullable(),
}).meta({ id: 'SourceFile' });
export type SourceFileBody = Wire<typeof SourceFileBody>;

export const ReadSourceQuery = z.object({
  path: z.string().max(4_000).optional().describe('One file; the tree when left out'),
  limit: Page.shape.limit.unwrap().optional().describe('Of the tree; all of it when left out'),
  cursor: Page.shape.cursor,
});
export const SourceQuery = z.object({ path: z.string().max(4_000).optional() });
export const SourcePathQuery = z.object({ path: z.string().min(1).max(4_000) });

/** PUT …/source: the path in the body, in the query, or the same in both. */
export const WriteSourceBody = FileBody.partial({ path: true }).meta({ id: 'WriteSource' });
export type WriteSourceBody = z.infer<typeof WriteSourceBody>;

/** PATCH …/source */
export const MoveSourceBody = z
  .strictObject({ from: z.string().min(1).max(4_000), to: z.string().min(1).max(4_000) })
  .meta({ id: 'MoveSource' });
export type MoveSourceBody = z.infer<typeof MoveSourceBody>;

export const SourceEditBody = DeployResultBody.extend({
  path: z.string(),
  sha: z.string().nullable().describe('The file’s sha now; null when it was removed'),
}).meta({ id: 'SourceEdit' });
export type SourceEditBody = Wire<typeof SourceEditBody>;
