import type { InstallKeys } from '../../config/index.js';
import type { Deps } from '../../deps.js';

/** What the doctor looks at. */
export interface Scene {
  readonly deps: Pick<Deps, 'db' | 'workflows' | 'blobs'> & {
    readonly config: Pick<Deps['config'], 'dataDir'>;
    /** Null when there are none. */
    readonly keys: InstallKeys | null;
  };
  /** A run without a parent: only it and what runs under it is looked at, where a check is about runs. Null: all. */
  readonly root: string | null;
}

export interface Fault {
  /** Null when it is about no run. */
  readonly run: string | null;
  /** The rest of the sentence that begins with the run's id, or a whole one when there is none. */
  readonly says: string;
}

/** One promise of the engine, audited over the whole installation at once. */
export interface Check {
  find(scene: Scene): Promise<readonly Fault[]>;
  /** What the reader is to do. */
  readonly remedy: string;
}

/** A check by statements that answer a row for each fault. `$1` is the root run, or null for all. */
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

/** The condition under which a run, by its alias `r`, belongs to what is looked at. */
export const IN_SCOPE = '($1::text IS NULL OR r.root_id = $1)';
