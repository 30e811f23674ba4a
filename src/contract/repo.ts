import { z } from 'zod';
import { Time, type Wire } from './common.js';
import { DeployResultBody } from './deploys.js';
import { FileChangeBody } from './history.js';

const Branch = z.string().min(1).max(1_000);

/** GET …/repo: the whole, or with `branch` its net change. */
export const RepoQuery = z.strictObject({
  branch: Branch.optional().describe('Its net change against main'),
  path: z.string().min(1).max(4_000).optional().describe('With branch: of this file alone'),
});

const count = z.number().int();

const MirrorBody = z
  .object({
    url: z.string(),
    https: z.boolean(),
    lastAt: Time.nullable().describe('When it last went well'),
    lastError: z.string().nullable().describe('Why it did not, the last time'),
    pending: z.boolean().describe('There is something that it may not have yet'),
    nextAt: Time.nullable().describe('When that is tried'),
  })
  .meta({ id: 'Mirror' });

export type MirrorBody = Wire<typeof MirrorBody>;

export const RepoBody = z
  .object({
    branches: z.array(
      z.object({
        name: z.string(),
        commit: z.string().nullable(),
        ahead: count.nullable().describe('Commits that main has not; null where that cannot be counted'),
        behind: count.nullable().describe('Commits of main that it has not; null as well'),
        preview: z.string().nullable().describe('The workspace that shows it'),
      }),
    ),
    tags: z.array(z.object({ name: z.string(), commit: z.string().nullable() })),
    mirror: MirrorBody.nullable(),
  })
  .meta({ id: 'Repo' });
export type RepoBody = Wire<typeof RepoBody>;

export const BranchChangeBody = z
  .object({
    branch: z.string(),
    commit: z.string(),
    base: z.string().nullable().describe('The commit of main that it comes from'),
    ahead: count,
    behind: count,
    files: z.array(FileChangeBody),
  })
  .meta({ id: 'BranchChange' });
export type BranchChangeBody = Wire<typeof BranchChangeBody>;

const force = z.boolean().default(false).describe('Over live runs');

export const RepoAction = z
  .discriminatedUnion('action', [
    z.strictObject({
      action: z.literal('deploy'),
      ref: Branch.describe('A branch, a tag, a revision’s id, a commit of main, or refs/service/pending'),
      force,
    }),
    z.strictObject({ action: z.literal('merge'), branch: Branch, force }),
    z.strictObject({ action: z.literal('delete-branch'), branch: Branch }),
    z.strictObject({ action: z.literal('drop-pending') }),
    z.strictObject({
      action: z.literal('mirror'),
      url: z.string().min(1).max(2_000).nullable().describe('Null removes the mirror'),
      https: z.boolean().default(true).describe('false: http too, to hosts that the operator opened'),
    }),
    z.strictObject({ action: z.literal('mirror-now') }),
  ])
  .meta({ id: 'RepoAction' });
export type RepoAction = z.infer<typeof RepoAction>;

const BranchDeleted = z.object({ ok: z.literal(true), branch: z.string(), preview: z.string().nullable() });
export type BranchDeleted = Wire<typeof BranchDeleted>;

const MirrorSet = z.object({ ok: z.literal(true), mirror: MirrorBody.nullable() });
export type MirrorSet = Wire<typeof MirrorSet>;

const PendingDropped = z.object({
  ok: z.literal(true),
  dropped: z.string().describe('The commit of the push that was given up'),
});
export type PendingDropped = Wire<typeof PendingDropped>;

export const RepoActed = z
  .union([DeployResultBody, BranchDeleted, MirrorSet, PendingDropped])
  .meta({ id: 'RepoActed' });
export type RepoActed = Wire<typeof RepoActed>;
