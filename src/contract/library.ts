import { z } from 'zod';
import { Next, Page, Time, type Wire } from './common.js';
import { IssueBody } from './deploys.js';

export const LibraryParams = z.object({
  kind: z.enum(['tools', 'skills', 'knowledge', 'memory', 'scripts']).describe('A folder of the account’s library'),
});

const path = z.string().min(1).max(4_000);

/** GET /api/library/<kind> */
export const LibraryQuery = Page.extend({ path: path.optional().describe('One file, as items have it: tools/crm.md') });
/** PUT: the path in the query, where the body has none. */
export const LibraryWriteQuery = z.object({ path: path.optional() });
export const LibraryPathQuery = z.object({ path });

const LibraryItem = z
  .object({
    path: z.string(),
    name: z.string(),
    description: z.string(),
    sha: z.string(),
    size: z.number().int(),
    updatedAt: Time,
    grantedBy: z
      .array(z.object({ workspace: z.string(), agent: z.string() }))
      .describe('Agents that have it, in the workspaces you see'),
    shadowedIn: z
      .array(z.object({ workspace: z.string(), path: z.string() }))
      .describe('Nearer copies, which agents there have in its place'),
  })
  .meta({ id: 'LibraryItem' });

export type LibraryItem = Wire<typeof LibraryItem>;

export const LibraryListBody = z
  .object({ items: z.array(LibraryItem), next: Next, revision: z.string().nullable() })
  .meta({ id: 'LibraryList' });
export type LibraryListBody = Wire<typeof LibraryListBody>;

export const LibraryFileBody = z
  .object({
    path: z.string(),
    sha: z.string().describe('The git object id of the blob; also the ETag'),
    size: z.number().int(),
    writtenBy: z.enum(['person', 'agent', 'deploy']),
    updatedAt: Time,
    content: z.string().optional().describe('When the file is text'),
    contentBase64: z.string().optional().describe('When it is not'),
    issues: z.array(IssueBody),
    revision: z.string().nullable(),
  })
  .meta({ id: 'LibraryFile' });
export type LibraryFileBody = Wire<typeof LibraryFileBody>;

/** POST /api/library/<kind> */
export const CreateLibraryBody = z
  .strictObject({
    name: z.string().min(1).max(100).optional().describe('Its path follows from this'),
    path: path.optional(),
    content: z.string().optional(),
    contentBase64: z.base64().optional(),
    template: z.string().max(100).optional().describe('What it begins with, when content is left out'),
  })
  .meta({ id: 'CreateLibraryFile' });
export type CreateLibraryBody = z.infer<typeof CreateLibraryBody>;

/** PUT /api/library/<kind>: the path in the body, in the query, or the same in both. */
export const WriteLibraryBody = z
  .strictObject({ path: path.optional(), content: z.string().optional(), contentBase64: z.base64().optional() })
  .meta({ id: 'WriteLibraryFile' });
export type WriteLibraryBody = z.infer<typeof WriteLibraryBody>;

const paths = z.array(z.string());

export const LibraryEditBody = z
  .object({
    ok: z.literal(true),
    applied: z.boolean().describe('Whether anything was changed by this call'),
    path: z.string(),
    sha: z.string().nullable().describe('The file’s sha now; null when it was removed'),
    added: paths,
    changed: paths,
    removed: paths,
    issues: z.array(IssueBody).describe('Warnings'),
    revision: z.string().nullable(),
    workspaces: z.array(z.string()).describe('The workspaces whose new runs use it'),
  })
  .meta({ id: 'LibraryEdit' });
export type LibraryEditBody = Wire<typeof LibraryEditBody>;

/** POST: the document, and what its commit changed. */
export const LibraryCreatedBody = LibraryEditBody.extend({
  ...LibraryFileBody.pick({
    sha: true,
    size: true,
    writtenBy: true,
    updatedAt: true,
    content: true,
    contentBase64: true,
  }).shape,
}).meta({ id: 'LibraryCreated' });
export type LibraryCreatedBody = Wire<typeof LibraryCreatedBody>;
