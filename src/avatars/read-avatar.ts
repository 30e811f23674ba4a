import type { Deps } from '../deps.js';
import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { PICTURE_TYPE } from './encode-picture.js';
import { type AvatarName, findSubject } from './find-subject.js';

export interface Avatar {
  readonly content: Uint8Array;
  readonly type: string;
  readonly digest: string;
}

export async function readAvatar(deps: Pick<Deps, 'db'>, caller: Caller, name: AvatarName): Promise<Avatar> {
  const { kind, id } = await findSubject(deps.db, caller, name);
  const [row] = await deps.db.query<{ sha: string; content: Uint8Array }>({
    name: 'read-avatar',
    text: 'SELECT sha, content FROM avatar WHERE tenant_id = $1 AND kind = $2 AND id = $3',
    values: [caller.tenant, kind, id],
  });
  if (!row) throw notFound('picture');
  return { content: row.content, type: PICTURE_TYPE, digest: row.sha };
}
