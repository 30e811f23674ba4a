/** For parts that an `allOf` merged from several documents: the address that each came from. */
const origins = new WeakMap<object, string>();

export function comesFrom(value: unknown, at: string): void {
  if (typeof value === 'object' && value !== null && !origins.has(value)) origins.set(value, at);
}

export function originOf(value: unknown, at: string): string {
  return typeof value === 'object' && value !== null ? (origins.get(value) ?? at) : at;
}
