import type { CodePush, CodePushes } from '../../contract/code-host.js';
import type { Deps } from '../../deps.js';
import { findWorkspace } from '../../people/index.js';
import type { TableRow } from '../../platform/db/contract.js';
import { type PageInput, timeCursors } from '../../shared/cursor.js';
import type { Caller } from '../../shared/roles.js';

const SHOWN = {
  id: true,
  at: true,
  state: true,
  detail: true,
  host: true,
  repository: true,
  branch: true,
  dir: true,
  commit: true,
  message: true,
  authors: true,
  revision: true,
  tries: true,
  address: true,
} as const satisfies Record<Exclude<keyof CodePush, 'nextAt'>, true>;

const cursors = timeCursors('pushes');

/** The stored pushes of code hosts with their outcomes, newest first. */
export async function listPushes(
  deps: Deps,
  caller: Caller,
  input: PageInput & { readonly workspace: string },
): Promise<CodePushes> {
  const { id } = await findWorkspace(deps.db, caller, input.workspace);
  const after = cursors.read(input.cursor);
  const rows = await deps.db.prisma.codePush.findMany({
    select: { ...SHOWN, dueAt: true, endedAt: true },
    where: {
      workspaceId: id,
      ...(after && { at: { lte: after.at }, OR: [{ at: { lt: after.at } }, { id: { lt: after.id } }] }),
    },
    orderBy: [{ at: 'desc' }, { id: 'desc' }],
    take: input.limit + 1,
  });
  const { page, next } = cursors.page(rows, input.limit, ({ at, id: push }) => ({ at, id: push }));
  return { pushes: page.map(toPush), next };
}

function toPush({
  dueAt,
  endedAt,
  ...row
}: Pick<TableRow<'CodePush'>, keyof typeof SHOWN | 'dueAt' | 'endedAt'>): CodePush {
  return {
    ...row,
    at: row.at.toISOString(),
    state: row.state as CodePush['state'],
    host: row.host as CodePush['host'],
    nextAt: endedAt === null ? dueAt.toISOString() : null,
  };
}
