const AVATAR_KINDS = ['user', 'workspace', 'account'] as const;
type AvatarKind = (typeof AVATAR_KINDS)[number];

/** The address of a picture; null without one. `v` is the picture's digest, so that clients may cache it for a year. */
export function avatarPath(kind: AvatarKind, id: string, digest: string | null): string | null {
  return digest === null ? null : `/api/avatars/${kind}/${encodeURIComponent(id)}?v=${digest.slice(0, 16)}`;
}
