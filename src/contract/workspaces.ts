import { z } from 'zod';
import { Next, Time } from './common.js';
import { FileBody } from './files.js';

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
    notify: z.unknown().describe('{ url?, email?, events }; null when there is none'),
    revision: z.string().nullable().describe('The live revision’s id'),
    createdAt: Time,
    updatedAt: Time,
    preview: z.object({ of: z.string(), branch: z.string() }).nullable(),
    pending: z
      .object({ revision: z.string(), reason: z.string() })
      .nullable()
      .describe('A push that waits for live runs'),
    counts: Counts,
    live: z.number().int().describe('Runs that are live'),
    avatar: z.string().nullable().describe('The path of its picture; it changes with the picture'),
  })
  .meta({ id: 'Workspace' });
export type WorkspaceBody = z.infer<typeof WorkspaceBody>;

/** GET /api/workspaces */
export const WorkspaceList = z.object({ workspaces: z.array(WorkspaceBody), next: Next }).meta({ id: 'WorkspaceList' });
export type WorkspaceList = z.infer<typeof WorkspaceList>;

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

/** `?force=true` */
export const ForceQuery = z.object({ force: z.enum(['true', 'false']).optional() });

export const DeletedWorkspaceBody = z.object({
  ok: z.literal(true),
  name: z.string(),
  stopped: z.number().int().describe('Runs that were live'),
});
export type DeletedWorkspaceBody = z.infer<typeof DeletedWorkspaceBody>;
