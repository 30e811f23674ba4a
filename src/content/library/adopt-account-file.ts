import type { Deps } from '../../deps.js';
import type { Caller } from '../../shared/roles.js';
import { ACCOUNT_FILE } from '../workspaces/library-tree.js';
import { changeLibrary } from './change-library.js';

/**
 * Moves the account's AGENTS.md into the library, for accounts from a version that stored it elsewhere. Call it before
 * the file is read or changed. Safe to call concurrently.
 */
export async function adoptAccountFile(deps: Deps, tenant: string): Promise<void> {
  const at = { tenantId: tenant, path: ACCOUNT_FILE };
  const file = await deps.db.prisma.libraryFile.findFirst({ select: { content: true }, where: at });
  if (!file) return;
  await changeLibrary(deps, serviceOf(tenant), {
    action: 'library.adopt',
    target: ACCOUNT_FILE,
    message: `Take ${ACCOUNT_FILE} into the library`,
    via: 'edit',
    // A file that is in the library already is newer.
    edit: (files) => {
      const all = new Map<string, Uint8Array | { readonly sha: string }>(files);
      return files.has(ACCOUNT_FILE) ? all : all.set(ACCOUNT_FILE, file.content);
    },
  });
  await deps.db.prisma.libraryFile.deleteMany({ where: at });
}

function serviceOf(tenant: string): Caller {
  const actor = { kind: 'system', id: 'library', label: 'Signalbox' } as const;
  return { tenant, role: 'owner', workspaces: null, actor, person: null, signedIn: false, address: null };
}
