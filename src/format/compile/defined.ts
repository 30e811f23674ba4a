type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

/** Removes undefined fields: plans are JSON, where a key is present or absent. */
export function defined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}
