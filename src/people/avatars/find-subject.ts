import type { Db } from '../../platform/db/contract.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import { atLeast, type Caller, type Role } from '../../shared/roles.js';
import { findWorkspace } from '../find-workspace.js';

/** The owner of a picture as it is stored: a workspace by its id, so that a rename keeps the picture. */
export interface Subject {
  readonly kind: 'user' | 'workspace' | 'account';
  readonly id: string;
}

export interface AvatarName {
  readonly kind: string;
  readonly id: string;
}

type Find = (db: Db, caller: Caller, id: string) => Promise<string>;

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
