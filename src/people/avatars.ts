import { createHash } from 'node:crypto';
import type { default as SharpModule } from 'sharp';
import type { AvatarSet } from '../contract/avatars.js';
import type { Ok } from '../contract/runs.js';
import type { Deps } from '../deps.js';
import type { Db } from '../platform/db/contract.js';
import { notFound, overloaded, Refusal } from '../shared/refusal.js';
import { atLeast, type Caller, type Role } from '../shared/roles.js';
import { createSemaphore } from '../shared/semaphore.js';
import { audit } from './accounts/audit.js';
import { avatarPath } from './accounts/avatar-path.js';
import { findWorkspace } from './find-workspace.js';

/** The stored format: the only one that we encode, at most `SIDE` pixels wide and high. */
const PICTURE_TYPE = 'image/webp';

const SIDE = 512;

/** A file of a few hundred bytes can declare billions of pixels. */
const MAX_PIXELS = 4_096 * 4_096;

const SECONDS = 5;

let loading: Promise<typeof SharpModule> | undefined;

/** The library uses libuv's thread pool, as name lookups and files do, so at most two threads work on pictures. */
const semaphore = createSemaphore({
  permits: 2,
  queue: { most: 50, full: () => overloaded('too many pictures at once; try again in a moment', 2) },
});

const FINDERS: Readonly<Record<Subject['kind'], Find>> = {
  user: async (db, caller, id) => {
    const member = await db.prisma.member.findFirst({ select: { id: true }, where: { tenantId: caller.tenant, id } });
    if (!member) throw notFound('member');
    return id;
  },
  workspace: async (db, caller, name) => (await findWorkspace(db, caller, name)).id,
  account: async (_db, caller, id) => {
    if (id !== caller.tenant) throw notFound('account');
    return id;
  },
};

/** Stores a picture in place of the previous one. Checks the caller's rights before it decodes the picture. */
export async function setAvatar(
  deps: Pick<Deps, 'db'>,
  caller: Caller,
  { bytes, ...name }: AvatarName & { readonly bytes: Uint8Array },
): Promise<AvatarSet> {
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

export async function removeAvatar(deps: Pick<Deps, 'db'>, caller: Caller, name: AvatarName): Promise<Ok> {
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

interface Avatar {
  readonly content: Uint8Array;
  readonly type: string;
  readonly digest: string;
}

export async function readAvatar(deps: Pick<Deps, 'db'>, caller: Caller, name: AvatarName): Promise<Avatar> {
  const { kind, id } = await findSubject(deps.db, caller, name);
  const row = await deps.db.prisma.avatar.findFirst({
    select: { sha: true, content: true },
    where: { tenantId: caller.tenant, kind, id },
  });
  if (!row) throw notFound('picture');
  return { content: row.content, type: PICTURE_TYPE, digest: row.sha };
}

/** The owner of a picture as it is stored: a workspace by its id, so that a rename keeps the picture. */
interface Subject {
  readonly kind: 'user' | 'workspace' | 'account';
  readonly id: string;
}

interface AvatarName {
  readonly kind: string;
  readonly id: string;
}

type Find = (db: Db, caller: Caller, id: string) => Promise<string>;

/** The subject of a picture that the caller may see; a subject of another account is refused as missing. */
export async function findSubject(db: Db, caller: Caller, { kind, id }: AvatarName): Promise<Subject> {
  if (!isKind(kind)) throw notFound('kind of picture: it is user, workspace or account');
  return { kind, id: await FINDERS[kind](db, caller, id) };
}

/** A person sets their own picture, an admin that of a workspace or of the account. */
export function assertMaySet(caller: Caller, { kind, id }: Subject): void {
  if (kind !== 'user') {
    assertRole(caller, 'admin');
    return;
  }
  if (!caller.signedIn)
    throw new Refusal('forbidden', 'needs a signed-in person: a key names an account, never a person', {
      need: 'person',
    });
  if (caller.person?.id !== id)
    throw new Refusal('forbidden', 'you can set your own picture only: this is another person’s', {
      need: 'themselves',
    });
}

function assertRole(caller: Caller, need: Role): void {
  if (!atLeast(caller.role, need)) throw new Refusal('forbidden', `needs role ${need}`, { need });
}

function isKind(kind: string): kind is Subject['kind'] {
  return Object.hasOwn(FINDERS, kind);
}

/**
 * Decodes a PNG, JPEG or WebP and encodes it again, off the event loop, which removes all metadata (such as the place
 * of a photo). Refuses other formats, damaged files and pictures that are too large.
 */
async function encodePicture(bytes: Uint8Array): Promise<Uint8Array> {
  if (!isPicture(bytes))
    throw new Refusal('refused', 'the body is not a picture: send the bytes of a PNG, JPEG or WebP');
  const sharp = await loadSharp();
  return semaphore.run(async () => {
    try {
      return new Uint8Array(await encoder(sharp, bytes).toBuffer());
    } catch (error) {
      const tooBig = error instanceof Error && /pixel limit/i.test(error.message);
      throw new Refusal(
        'refused',
        tooBig
          ? `the picture has over ${MAX_PIXELS / 1_000_000} million pixels: make it smaller`
          : 'the picture cannot be read: it is damaged, or takes too long to decode; save it again and send that',
      );
    }
  });
}

/** Loads the library with the first picture: most starts need none of its native code. */
function loadSharp(): Promise<typeof SharpModule> {
  loading ??= import('sharp').then(({ default: sharp }) => {
    // Allow only these three of the library's decoders, which keeps the attack surface small.
    sharp.block({ operation: ['VipsForeignLoad'] });
    sharp.unblock({
      operation: ['VipsForeignLoadPngBuffer', 'VipsForeignLoadJpegBuffer', 'VipsForeignLoadWebpBuffer'],
    });
    sharp.cache(false);
    sharp.concurrency(1);
    return sharp;
  });
  return loading;
}

function encoder(sharp: typeof SharpModule, bytes: Uint8Array) {
  return sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error', pages: 1 })
    .autoOrient()
    .resize({ width: SIDE, height: SIDE, fit: 'inside', withoutEnlargement: true })
    .webp({ quality: 85 })
    .timeout({ seconds: SECONDS });
}

/** Detects the format by the first bytes, since the declared type may be wrong. */
function isPicture(bytes: Uint8Array): boolean {
  const head = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
  return head.startsWith('\x89PNG\r\n\x1a\n') || head.startsWith('\xff\xd8\xff') || /^RIFF....WEBP$/s.test(head);
}
