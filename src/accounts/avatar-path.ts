const AVATAR_KINDS = ['user', 'workspace', 'account'] as const;
type AvatarKind = (typeof AVATAR_KINDS)[number];

/** Where a picture is read; null when there is none. Its `v` is the picture's digest, so that it may be kept for a year. */
export function avatarPath(kind: AvatarKind, id: string, digest: string | null): string | null {
  return digest === null ? null : `/api/avatars/${kind}/${encodeURIComponent(id)}?v=${digest.slice(0, 16)}`;
}
