import { z } from 'zod';
import { Notify } from './account.js';
import { AnyJson, Next, Time, type Wire } from './common.js';
import { FileBody } from './files.js';
import { SourceFileBody } from './source.js';

const Counts = z.object({
  agents: z.number().int(),
  flows: z.number().int(),
  evals: z.number().int(),
  tools: z.number().int(),
  skills: z.number().int(),
});

export const WorkspaceBody = z
  .object({
    name: z.string(),
    description: z.string(),
    timezone: z.string().nullable(),
    budget: z.number().nullable().describe('A cap a calendar month, USD'),
    notify: AnyJson.describe('{ url?, email?, events }; null when there is none'),
    revision: z.string().nullable().describe('The live revision’s id'),
    createdAt: Time,
    updatedAt: Time,
    preview: z.object({ of: z.string(), branch: z.string() }).nullable(),
    pending: z
      .object({ revision: z.string(), reason: z.string() })
      .nullable()
      .describe('A push that waits for live runs, or that was refused after it had waited; reason says which'),
    counts: Counts,
    live: z.number().int().describe('Runs that are live'),
    avatar: z.string().nullable().describe('The path of its picture; it changes with the picture'),
  })
  .meta({ id: 'Workspace' });
export type WorkspaceBody = Wire<typeof WorkspaceBody>;

/** GET /api/workspaces */
export const WorkspaceList = z.object({ workspaces: z.array(WorkspaceBody), next: Next }).meta({ id: 'WorkspaceList' });
export type WorkspaceList = Wire<typeof WorkspaceList>;

const TemplateName = z.enum(['blank', 'support', 'research', 'code-review']);

/** POST /api/workspaces */
export const CreateWorkspaceBody = z
  .strictObject({
    name: z.string().min(1).max(200),
    template: TemplateName.optional(),
    demo: z.boolean().optional().describe('A workspace that runs without any provider’s key'),
    files: z.array(FileBody).max(2_000).optional().describe('Laid over the template’s'),
  })
  .meta({ id: 'CreateWorkspace' });
export type CreateWorkspaceBody = z.infer<typeof CreateWorkspaceBody>;

/** PATCH …/<ws>: sets the keys that are sent; null clears one. */
export const ChangeWorkspaceBody = z
  .strictObject({
    name: z.string().min(1).max(200).optional().describe('A new name; every path of the workspace moves'),
    description: z.string().max(2_000).nullable().optional(),
    timezone: z.string().min(1).max(64).nullable().optional(),
    budget: z.number().nonnegative().max(1_000_000_000).nullable().optional().describe('USD a calendar month'),
    notify: Notify.nullable().optional(),
  })
  .meta({ id: 'ChangeWorkspace' });

export const ChangedWorkspaceBody = WorkspaceBody.extend({
  renamed: z.object({ from: z.string(), note: z.string() }).optional(),
}).meta({ id: 'ChangedWorkspace' });
export type ChangedWorkspaceBody = Wire<typeof ChangedWorkspaceBody>;

const VocabularyKey = z.object({
  key: z.string(),
  type: z.string(),
  required: z.boolean(),
  values: z.array(z.string()).optional(),
  description: z.string(),
});

/** GET …/vocabulary */
export const VocabularyBody = z
  .object({
    kinds: z.array(z.object({ kind: z.string(), folder: z.string(), file: z.string(), keys: z.array(VocabularyKey) })),
    options: z.object({
      step: z.array(VocabularyKey),
      group: z.array(VocabularyKey),
      case: z.array(VocabularyKey),
    }),
    docs: z
      .array(z.object({ path: z.string(), title: z.string(), kind: z.string() }))
      .describe('What [[ ]] resolves, folders among them'),
  })
  .meta({ id: 'Vocabulary' });
export type VocabularyBody = Wire<typeof VocabularyBody>;

/** POST …/assets */
export const CreateAssetBody = z
  .strictObject({
    kind: z.enum(['agent', 'flow', 'eval', 'tool', 'skill', 'knowledge', 'memory']),
    name: z.string().min(1).max(200).describe('Of knowledge and memory a path, without .md'),
    agent: z.string().min(1).max(200).optional().describe('Whose own it is; for a flow, who does its steps'),
    template: z.string().min(1).max(100).optional(),
    description: z.string().min(1).max(1_000).optional(),
    target: z.string().min(1).max(200).optional().describe('Of an eval: flows/<name> or agents/<name>'),
  })
  .meta({ id: 'CreateAsset' });

/** The document as a file of the source. */
export const CreatedAssetBody = SourceFileBody.extend({
  ok: z.literal(true),
  kind: z.string(),
  name: z.string(),
}).meta({ id: 'CreatedAsset' });
export type CreatedAssetBody = Wire<typeof CreatedAssetBody>;

/** `?force=true` */
export const ForceQuery = z.object({ force: z.enum(['true', 'false']).optional() });

export const DeletedWorkspaceBody = z.object({
  ok: z.literal(true),
  name: z.string(),
  stopped: z.number().int().describe('Runs that were live'),
});
export type DeletedWorkspaceBody = Wire<typeof DeletedWorkspaceBody>;
