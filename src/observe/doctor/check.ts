import type { Deps } from '../../deps.js';
import type { InstallKeys } from '../../platform/config/index.js';

/** What the doctor examines. */
export interface Scene {
  readonly deps: Pick<Deps, 'db' | 'workflows' | 'blobs'> & {
    readonly config: Pick<Deps['config'], 'dataDir'>;
    /** Null when there are no install keys. */
    readonly keys: InstallKeys | null;
  };
  /** Limits the checks about runs to this root run and its descendants; null examines all. */
  readonly root: string | null;
}

export interface Fault {
  /** Null when the fault does not concern a run. */
  readonly run: string | null;
  /** A predicate whose subject is the run's id, or a whole sentence when there is no run. */
  readonly says: string;
}

/** One invariant, checked over the whole installation. */
export interface Check {
  find(scene: Scene): Promise<readonly Fault[]>;
  /** What the operator should do. */
  readonly remedy: string;
}

/** A check by SQL statements that return a row per fault. `$1` is the root run, or null for all. */
export function rowCheck(remedy: string, ...queries: readonly string[]): Check {
  return {
    remedy,
    async find({ deps, root }) {
      const found: Fault[] = [];
      for (const query of queries) found.push(...(await deps.db.query<Fault>(query, [root])));
      return found;
    },
  };
}

/** SQL: the run with alias `r` belongs to the examined scope. */
export const IN_SCOPE = '($1::text IS NULL OR r.root_id = $1)';
