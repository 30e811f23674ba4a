/** A page of things that are listed by name; the cursor is the last name of the page before. */
export function pageOf<T extends { readonly name: string }>(
  all: readonly T[],
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
): { readonly page: readonly T[]; readonly next: string | null } {
  const sorted = [...all].sort((a, b) => (a.name < b.name ? -1 : 1));
  const rest = cursor === undefined ? sorted : sorted.filter(({ name }) => name > cursor);
  const page = rest.slice(0, limit);
  return { page, next: rest.length > limit ? (page.at(-1)?.name ?? null) : null };
}
