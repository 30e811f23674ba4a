import { z } from 'zod';
import type { Wire } from './common.js';
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
export type IssueBody = Wire<typeof IssueBody>;

/** POST …/deploy */
export const DeployBody = z
  .strictObject({
    files: z
      .array(FileBody)
      .max(10_000)
      .describe(
        'The whole tree: what is live and not in it is deleted, AGENTS.md included. Only memory that agents wrote stays',
      ),
    commit: z
      .string()
      .max(10_000)
      .optional()
      .describe(
        'The revision’s id: a full hash (40 or 64 hex digits) belongs to this tree alone, 409 with another; 7 to 64 hex digits or a short id (v1.2.3, build-417) as long as it is free. History finds the deploy by it in any case. A text is the message, or is added to it',
      ),
    message: z.string().max(10_000).optional(),
    force: z.boolean().optional().describe('Deploy over live runs'),
    dryRun: z
      .boolean()
      .optional()
      .describe('Check, change nothing, and answer what would be removed, added and changed'),
    allowEmpty: z
      .boolean()
      .default(false)
      .describe('Deploy without AGENTS.md though that deletes most of the live files; else 422'),
    base: z.string().max(200).optional().describe('The revision believed live; 409 when another one is'),
  })
  .meta({ id: 'Deploy' });
export type DeployBody = z.infer<typeof DeployBody>;

const paths = z.array(z.string());

export const DeployResultBody = z
  .object({
    ok: z.literal(true),
    applied: z.boolean().describe('Whether it went live by this call'),
    removed: paths.describe('Deleted, since the files did not hold them'),
    added: paths,
    changed: paths,
    issues: z.array(IssueBody).describe('Warnings'),
    commit: z.string().nullable().describe('The revision’s id in history; null for a dry run'),
    revision: z.string().nullable(),
    gitCommit: z.string().nullable(),
  })
  .meta({ id: 'DeployResult' });
export type DeployResultBody = Wire<typeof DeployResultBody>;

export const RefusedDeployBody = z
  .object({
    error: z.string(),
    ok: z.literal(false),
    applied: z.literal(false),
    removed: paths,
    added: paths,
    changed: paths,
    issues: z.array(IssueBody),
  })
  .meta({ id: 'RefusedDeploy' });
export type RefusedDeployBody = Wire<typeof RefusedDeployBody>;
