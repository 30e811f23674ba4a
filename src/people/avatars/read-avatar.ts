import type { Deps } from '../../deps.js';
import { notFound } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { PICTURE_TYPE } from './encode-picture.js';
import { type AvatarName, findSubject } from './find-subject.js';

export interface Avatar {
  readonly content: Uint8Array;
  readonly type: string;
  readonly digest: string;
}

export async function readAvatar(deps: Pick<Deps, 'db'>, caller: Caller, name: AvatarName): Promise<Avatar> {
  const { kind, id } = await findSubject(deps.db, caller, name);
  const row = await deps.db.prisma.avatar.findUnique({
    select: { sha: true, content: true },
    where: { tenantId_kind_id: { tenantId: caller.tenant, kind, id } },
  });
  if (!row) throw notFound('picture');
  return { content: row.content, type: PICTURE_TYPE, digest: row.sha };
}
