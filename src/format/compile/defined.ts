type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

/** The same fields without those that are undefined: plans are JSON, where a key is there or is not. */
export function defined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}
