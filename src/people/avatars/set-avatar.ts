import { createHash } from 'node:crypto';
import type { Deps } from '../../deps.js';
import { notFound } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { audit } from '../accounts/audit.js';
import { avatarPath } from '../accounts/avatar-path.js';
import { encodePicture } from './encode-picture.js';
import { type AvatarName, assertMaySet, findSubject } from './find-subject.js';

/** Stores a picture in place of the previous one. Checks the caller's rights before it decodes the picture. */
export async function setAvatar(
  deps: Pick<Deps, 'db'>,
  caller: Caller,
  { bytes, ...name }: AvatarName & { readonly bytes: Uint8Array },
): Promise<{ ok: true; url: string }> {
  const subject = await findSubject(deps.db, caller, name);
  assertMaySet(caller, subject);
  const content = await encodePicture(bytes);
  const digest = createHash('sha256').update(content).digest('hex');
  await deps.db.transaction(async (sql) => {
    await sql.query(
      `INSERT INTO avatar (tenant_id, kind, id, sha, content) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (tenant_id, kind, id) DO UPDATE SET sha = excluded.sha, content = excluded.content, updated_at = now()`,
      [caller.tenant, subject.kind, subject.id, digest, content],
    );
    await audit(sql, caller, 'avatar.set', `${subject.kind}/${name.id}`, { size: content.length });
  });
  return { ok: true, url: avatarPath(subject.kind, name.id, digest) ?? '' };
}

export async function removeAvatar(deps: Pick<Deps, 'db'>, caller: Caller, name: AvatarName): Promise<{ ok: true }> {
  const subject = await findSubject(deps.db, caller, name);
  assertMaySet(caller, subject);
  await deps.db.transaction(async (sql) => {
    const removed = await sql.query('DELETE FROM avatar WHERE tenant_id = $1 AND kind = $2 AND id = $3 RETURNING 1', [
      caller.tenant,
      subject.kind,
      subject.id,
    ]);
    if (removed.length === 0) throw notFound('picture');
    await audit(sql, caller, 'avatar.remove', `${subject.kind}/${name.id}`);
  });
  return { ok: true };
}
