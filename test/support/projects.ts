/** A folder of test/ each: what it may need is started once by the global setup. */
export const PROJECTS = ['e2e', 'workflows', 'api', 'git', 'replay', 'unit'] as const;

/** Whose test files have a database each: files of one database would find each other's rows, and sweep them. */
export const NEED_POSTGRES: ReadonlySet<string> = new Set(['api', 'workflows', 'git', 'e2e']);
