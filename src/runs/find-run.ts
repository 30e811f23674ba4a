import type { Deps } from '../deps.js';
import { findWorkspace } from '../people/index.js';
import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';

/** Finds a run of a workspace the caller can access; any other run is refused as missing. */
export async function findRun(
  deps: Deps,
  caller: Caller,
  input: { readonly workspace: string; readonly runId: string },
): Promise<void> {
  const workspace = await findWorkspace(deps.db, caller, input.workspace);
  const run = await deps.db.prisma.run.findFirst({
    select: { id: true },
    where: { id: input.runId, workspaceId: workspace.id },
  });
  if (!run) throw notFound('run');
}
