import type { Sql } from '../../db/contract.js';
import type { Deps } from '../../deps.js';
import type { RefCommand, Repository } from '../../git/index.js';
import type { Issue } from '../../workspace/index.js';
import type { OnStale } from '../../workspaces/index.js';
import type { Remote } from '../remote.js';
import type { PushPack } from './pack-adopter.js';
import type { Outcome } from './report.js';

export interface PushContext {
  readonly remote: Remote;
  /** The repository with the push's objects. */
  readonly inside: Repository;
  /** What is wrong with the objects that a ref is to name; null when nothing is. Asked before anything is kept. */
  readonly faultOf: (command: RefCommand) => Promise<string | null>;
  readonly pack: PushPack;
  readonly say: (...lines: readonly string[]) => void;
  /** What is told when all refs have moved, at once. */
  readonly later: (() => Promise<void>)[];
}

export type UpdateRef = (deps: Deps, context: PushContext, command: RefCommand) => Promise<Outcome>;

/** A ref whose new commit was read and checked, and whose pack is to be kept: only its transaction is left. */
export interface RefPlan {
  /** Moves the ref. Safe to run again in another transaction; throws what refuses it. */
  readonly apply: (sql: Sql, onStale: OnStale) => Promise<void>;
  /** After the commit. */
  readonly done: () => Promise<Outcome>;
  /** After a transaction that failed. */
  readonly undo?: () => Promise<void>;
}

/** Reads and checks what a ref is to become. An outcome is that of a ref that is refused; a `Refusal` may be thrown too. */
export type PlanRef = (deps: Deps, context: PushContext, command: RefCommand) => Promise<RefPlan | Outcome>;

const MAX_LINES = 1_000;

/** Each issue as `path:line:column code message`; a warning says that it is one. */
export function issueLines(issues: readonly Issue[]): readonly string[] {
  const lines = issues.slice(0, MAX_LINES).map(({ path, line, column, code, severity, message, hint }) => {
    const what = severity === 'warning' ? 'warning: ' : '';
    return `${path || '.'}:${line}:${column} ${code} ${what}${message}${hint ? ` ${hint}` : ''}`;
  });
  const more = issues.length - lines.length;
  return more > 0 ? [...lines, `… and ${more} more`] : lines;
}
