import { z } from 'zod';
import { FileBody } from './files.js';

/** What is wrong with a file, and where: 1-based line and column. */
export const IssueBody = z
  .object({
    path: z.string(),
    line: z.number().int(),
    column: z.number().int(),
    code: z.string(),
    severity: z.enum(['error', 'warning']),
    message: z.string(),
    hint: z.string().optional(),
  })
  .meta({ id: 'Issue' });
export type IssueBody = z.infer<typeof IssueBody>;

/** POST …/deploy */
export const DeployBody = z
  .strictObject({
    files: z.array(FileBody).max(10_000).describe('The whole tree'),
    commit: z
      .string()
      .max(10_000)
      .optional()
      .describe('A full hash of 40 hex digits is the revision’s id; anything else is the message'),
    message: z.string().max(10_000).optional(),
    force: z.boolean().optional().describe('Deploy over live runs'),
    dryRun: z.boolean().optional().describe('Check, and change nothing'),
    base: z.string().max(200).optional().describe('The revision believed live; 409 when another one is'),
  })
  .meta({ id: 'Deploy' });
export type DeployBody = z.infer<typeof DeployBody>;

const paths = z.array(z.string());

export const DeployResultBody = z
  .object({
    ok: z.literal(true),
    applied: z.boolean().describe('Whether it went live by this call'),
    added: paths,
    changed: paths,
    removed: paths,
    issues: z.array(IssueBody).describe('Warnings'),
    commit: z.string().nullable().describe('The revision’s id in history; null for a dry run'),
    revision: z.string().nullable(),
    gitCommit: z.string().nullable(),
  })
  .meta({ id: 'DeployResult' });
export type DeployResultBody = z.infer<typeof DeployResultBody>;

export const RefusedDeployBody = z
  .object({
    error: z.string(),
    ok: z.literal(false),
    applied: z.literal(false),
    added: paths,
    changed: paths,
    removed: paths,
    issues: z.array(IssueBody),
  })
  .meta({ id: 'RefusedDeploy' });
export type RefusedDeployBody = z.infer<typeof RefusedDeployBody>;
