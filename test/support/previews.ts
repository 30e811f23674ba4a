import { createHash } from 'node:crypto';
import { type PutPreview, putPreview } from '../../src/content/index.js';
import type { Deps } from '../../src/deps.js';
import type { Caller } from '../../src/shared/roles.js';
import type { Tree } from './workspace-app.js';

export interface Pushed {
  readonly workspace: string;
  readonly branch: string;
  readonly files: Tree;
  /** A name for the commit; another tree is another one without it. */
  readonly commit?: string;
  readonly programs?: readonly string[];
}

/** Whoever pushes, as the remote knows them. */
export function pusher(tenant: string, workspaces: readonly string[] | null = null): Caller {
  const actor = { kind: 'key', id: 'k', label: 'laptop' } as const;
  return { tenant, role: 'editor', workspaces, actor, person: null, signedIn: false, address: null };
}

/** A branch's push as the remote hands it on, once its objects are there. */
export function pushBranch(
  { deps, tenant }: { readonly deps: Deps; readonly tenant: string },
  { workspace, branch, files, programs = [], commit = JSON.stringify([files, programs]) }: Pushed,
): Promise<PutPreview> {
  const tree = Object.entries(files).map(([path, content]) => ({ path, content: Buffer.from(content) }));
  return putPreview(deps, pusher(tenant), {
    ...{ workspace, branch, files: tree, message: `Try ${branch}` },
    executable: new Set(programs),
    commit: createHash('sha1').update(commit).digest('hex'),
    moveRef: async () => undefined,
  });
}
