import type { WorkspaceBody } from '../../contract/workspaces.js';
import type { Deps } from '../../deps.js';
import type { SourceFile, Workspace } from '../../format/model.js';
import { removeRepository } from '../../git/index.js';
import { audit, type RecordAnswer } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { isName, newId } from '../../shared/ids.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { alignMain } from './align-refs.js';
import { lockLibrary } from './library-tree.js';
import { readLiveTree } from './live-tree.js';
import { type PreparedTree, prepareTree, readInReach } from './prepare-tree.js';
import { readWorkspace } from './read-workspace.js';
import { readTemplate, type Template } from './templates.js';
import { writeRevision } from './write-revision.js';

export interface CreateWorkspaceInput {
  readonly name: string;
  /** `blank` when neither this, `demo` nor `files` is given. */
  readonly template?: Template | undefined;
  readonly demo?: boolean | undefined;
  /** Added to the template's files, replacing those with the same path. */
  readonly files?: readonly SourceFile[] | undefined;
  /** Stores the answer for the Idempotency-Key, in the same transaction. */
  readonly recordAnswer?: RecordAnswer | undefined;
}

/** Creates a workspace with its first revision. Creates nothing when the files are refused. */
export async function createWorkspace(deps: Deps, caller: Caller, input: CreateWorkspaceInput): Promise<WorkspaceBody> {
  checkWorkspaceName(input.name);
  if (caller.workspaces !== null) {
    throw new Refusal('forbidden', 'your access is limited to some workspaces, and a new one would not be among them', {
      need: 'every workspace',
    });
  }
  const files = await startFiles(input);
  const draft = await prepareValidTree(deps, deps.db, { caller, files });
  const id = newId(deps.clock.now());
  try {
    await deps.db.transaction(async (sql) => {
      const isOld = (await lockLibrary(sql, caller.tenant, 'share')) !== draft.librarySeq;
      const prepared = isOld ? await prepareValidTree(deps, sql, { caller, files }) : draft;
      await insertWorkspace(sql, { id, tenant: caller.tenant, name: input.name });
      await writeRevision(deps, sql, {
        workspaceId: id,
        live: await readLiveTree(sql, id),
        prepared,
        mentions: new Set(),
        id: null,
        by: caller.actor,
        via: 'deploy',
        message: `Create ${input.name}`,
      });
      await audit(sql, caller, 'workspace.create', input.name);
      if (input.recordAnswer)
        await input.recordAnswer(sql, await readWorkspace({ db: sql }, caller, { workspace: input.name }));
    });
  } catch (error) {
    await removeRepository(deps.config.dataDir, id);
    throw error;
  }
  await alignMain(deps, id).catch((error: unknown) =>
    deps.log.warn({ workspaceId: id, err: error }, 'failed to set the ref of a new workspace, will retry'),
  );
  return readWorkspace(deps, caller, { workspace: input.name });
}

type ValidTree = PreparedTree & { readonly workspace: Workspace };

async function prepareValidTree(
  deps: Deps,
  sql: Sql,
  { caller, files }: { readonly caller: Caller; readonly files: readonly SourceFile[] },
): Promise<ValidTree> {
  const prepared = await prepareTree(deps, files, await readInReach(sql, caller.tenant, null));
  if (!prepared.workspace) throw refusedFiles(prepared);
  return prepared as ValidTree;
}

/** Names are lower-case words joined by single hyphens. Names of previews are reserved. */
export function checkWorkspaceName(name: string): void {
  if (name === '_library' || name.includes('-preview-')) {
    throw new Refusal('refused', `the name ${name} is reserved; choose one without "-preview-"`, {
      code: 'workspace/reserved-name',
    });
  }
  if (!isName(name)) {
    throw new Refusal(
      'refused',
      'a name is lower-case words and digits joined by single hyphens, 64 characters at most',
      {
        code: 'workspace/bad-name',
      },
    );
  }
}

async function startFiles({ template, demo, files }: CreateWorkspaceInput): Promise<readonly SourceFile[]> {
  if (demo && template !== undefined) throw new Refusal('refused', 'give `template` or `demo: true`, not both');
  const base = demo ? 'demo' : (template ?? (files === undefined ? 'blank' : null));
  const own = new Set(files?.map(({ path }) => path));
  const start = base === null ? [] : await readTemplate(base);
  return [...start.filter(({ path }) => !own.has(path)), ...(files ?? [])];
}

function refusedFiles({ issues }: PreparedTree): Refusal {
  const errors = issues.filter(({ severity }) => severity === 'error').length;
  const count = errors === 1 ? 'one error' : `${errors} errors`;
  return new Refusal('refused', `the files have ${count}, so no workspace was made; issues says what to change`, {
    ok: false,
    issues,
  });
}

async function insertWorkspace(
  sql: Sql,
  { id, tenant, name }: { readonly id: string; readonly tenant: string; readonly name: string },
): Promise<void> {
  const rows = await sql.query({
    name: 'insert-workspace',
    text: `INSERT INTO workspace (id, tenant_id, name) VALUES ($1, $2, $3)
      ON CONFLICT (tenant_id, name) DO NOTHING RETURNING id`,
    values: [id, tenant, name],
  });
  if (rows.length === 0) throw new Refusal('conflict', `there is a workspace ${name} already; choose another name`);
}
