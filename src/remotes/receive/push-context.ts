import type { OnStale } from '../../content/index.js';
import type { Deps } from '../../deps.js';
import type { Issue } from '../../format/index.js';
import type { RefCommand, Repository } from '../../git/index.js';
import type { Sql } from '../../platform/db/contract.js';
import type { Remote } from '../remote.js';
import type { PushPack } from './push-pack.js';
import type { Outcome } from './report.js';

export interface PushContext {
  readonly remote: Remote;
  /** The repository with the push's objects. */
  readonly inside: Repository;
  /** The fault of the objects that a ref will point to; null for none. Called before anything is stored. */
  readonly faultOf: (command: RefCommand) => Promise<string | null>;
  readonly pack: PushPack;
  readonly say: (...lines: readonly string[]) => void;
  /** Reports to print after all refs have moved, run in parallel. */
  readonly later: (() => Promise<void>)[];
}

export type UpdateRef = (deps: Deps, context: PushContext, command: RefCommand) => Promise<Outcome>;

/** A checked update of a ref. Once the pack is stored, only the transaction remains. */
export interface RefPlan {
  /** Moves the ref. Safe to run again in another transaction; throws what refuses it. */
  readonly apply: (sql: Sql, onStale: OnStale) => Promise<void>;
  /** After the commit. */
  readonly done: () => Promise<Outcome>;
  /** After a transaction that failed. */
  readonly undo?: () => Promise<void>;
}

/**
 * Reads and checks the new commit of a ref. An outcome means that the ref is refused; a `Refusal` may be thrown too.
 */
export type PlanRef = (deps: Deps, context: PushContext, command: RefCommand) => Promise<RefPlan | Outcome>;

const MAX_LINES = 1_000;

/** Each issue as `path:line:column code message`, with `warning:` for a warning. */
export function issueLines(issues: readonly Issue[]): readonly string[] {
  const lines = issues.slice(0, MAX_LINES).map(({ path, line, column, code, severity, message, hint }) => {
    const what = severity === 'warning' ? 'warning: ' : '';
    return `${path || '.'}:${line}:${column} ${code} ${what}${message}${hint ? ` ${hint}` : ''}`;
  });
  const more = issues.length - lines.length;
  return more > 0 ? [...lines, `… and ${more} more`] : lines;
}
