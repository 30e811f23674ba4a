export type Environment = Readonly<Record<string, string | undefined>>;

/** The only code that reads the environment. */
export function readEnvironment(): Environment {
  return Object.freeze({ ...process.env });
}
