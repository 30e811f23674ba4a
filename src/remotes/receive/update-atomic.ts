import {
  inTurn,
  lockLibrary,
  lockPreviews,
  MAX_PREVIEWS,
  type OnStale,
  previewTurn,
  StalePlan,
} from '../../content/index.js';
import type { Deps } from '../../deps.js';
import { MAIN, type RefCommand } from '../../git/index.js';
import { findWorkspace } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { Refusal } from '../../shared/refusal.js';
import type { Remote } from '../remote.js';
import type { PushContext, RefPlan } from './push-context.js';
import { refuseMain } from './push-main.js';
import type { Outcome } from './report.js';
import { planRef, refusedOutcome } from './update-ref.js';

type Outcomes = (readonly [RefCommand, Outcome])[];
type Plans = (readonly [RefCommand, RefPlan])[];
type Refused = ReadonlyMap<RefCommand, Outcome>;

const BRANCHES = 'refs/heads/';
/** How often a push is checked again because another writer came between its checks and its transaction. */
const MAX_TRIES = 3;

/**
 * Moves all refs of an atomic push, or none. All checks and git processes come first; then one short transaction moves
 * the refs and makes main live. The notice of a refusal is written after that transaction has ended.
 */
export async function updateAtomic(
  deps: Deps,
  context: PushContext,
  commands: readonly RefCommand[],
): Promise<Outcomes> {
  const excess = refuseTooMany(commands);
  if (excess.size > 0) return refuseTogether(commands, excess);
  for (let tries = 1; ; tries += 1) {
    const { plans, refused } = await planAll(deps, context, commands);
    if (refused.size > 0) return refuseTogether(commands, refused);
    if (commands.some((command) => command.new !== null)) await context.pack.store();
    // The last attempt checks under the locks, so that other writers cannot starve the push.
    const outcomes = await moveAll(deps, context, { plans, onStale: tries < MAX_TRIES ? 'throw' : 'check-again' });
    if (outcomes) return outcomes;
  }
}

/** The outcomes of an atomic push with refused refs: no ref moves. */
export function refuseTogether(commands: readonly RefCommand[], refused: Refused): Outcomes {
  const [first] = [...refused.keys()];
  const reason = `not moved: the push is atomic, and ${first?.ref} was refused`;
  return commands.map((command) => [command, refused.get(command) ?? { kind: 'no', reason }]);
}

/** A push of more branches than there may be previews is refused before their trees are read. */
function refuseTooMany(commands: readonly RefCommand[]): Refused {
  const branches = commands.filter(({ ref, new: next }) => next !== null && ref !== MAIN && ref.startsWith(BRANCHES));
  const reason = `an atomic push has at most ${MAX_PREVIEWS} branches, as many as there may be previews`;
  return new Map(branches.slice(MAX_PREVIEWS).map((command) => [command, { kind: 'no', reason }]));
}

/** Checks every ref, so that the client gets all faults at once. */
async function planAll(
  deps: Deps,
  context: PushContext,
  commands: readonly RefCommand[],
): Promise<{ readonly plans: Plans; readonly refused: Refused }> {
  const plans: Plans = [];
  const refused = new Map<RefCommand, Outcome>();
  for (const command of commands) {
    try {
      const plan = await planRef(deps, context, command);
      if ('apply' in plan) plans.push([command, plan]);
      else refused.set(command, plan);
    } catch (error) {
      refused.set(command, await refuse(deps, context, { command, error }));
    }
  }
  return { plans, refused };
}

/** Null when another writer came first and the push must be planned again. */
async function moveAll(
  deps: Deps,
  context: PushContext,
  { plans, onStale }: { readonly plans: Plans; readonly onStale: OnStale },
): Promise<Outcomes | null> {
  const { remote } = context;
  const commands = plans.map(([command]) => command);
  let [current] = commands;
  // Takes the turns before the transaction: the database cannot detect a deadlock between a turn and a row lock.
  const inTurns = (work: (sql: Sql) => Promise<void>) =>
    inTurn(remote.id, () => inTurn(previewTurn(remote.id), () => deps.db.transaction(work)));
  try {
    await inTurns(async (sql) => {
      await lockInOrder(sql, remote, commands);
      for (const [command, plan] of plans) {
        current = command;
        await plan.apply(sql, onStale);
      }
    });
  } catch (error) {
    for (const [, plan] of plans) await undo(deps, remote, plan);
    if (error instanceof StalePlan) return null;
    if (!current) throw error;
    return refuseTogether(commands, new Map([[current, await refuse(deps, context, { command: current, error })]]));
  }
  const outcomes: Outcomes = [];
  for (const [command, plan] of plans) outcomes.push([command, await finish(deps, remote, plan)]);
  return outcomes;
}

/** Takes the locks that the refs share, strongest first and in the order of all other writers, to avoid deadlocks. */
async function lockInOrder(sql: Sql, { id, name, caller }: Remote, commands: readonly RefCommand[]): Promise<void> {
  const hasMain = commands.some(({ ref }) => ref === MAIN);
  await lockLibrary(sql, caller.tenant, 'share');
  const found = await findWorkspace(sql, caller, name, hasMain ? 'update' : 'share');
  if (found.id !== id) throw new Refusal('conflict', `another workspace is called ${name} now: push again`);
  if (commands.some(({ ref }) => ref.startsWith(BRANCHES) && ref !== MAIN)) await lockPreviews(sql, id);
}

/** Logs a failure after the commit and reports success, since the ref has moved. */
async function finish({ log }: Pick<Deps, 'log'>, { id }: Remote, plan: RefPlan): Promise<Outcome> {
  try {
    return await plan.done();
  } catch (err) {
    log.error({ err, workspaceId: id }, 'failed to finish a push after its commit');
    return { kind: 'ok' };
  }
}

/** Removes what a plan has created. A failure is only logged: the sweep removes it later. */
async function undo({ log }: Pick<Deps, 'log'>, { id }: Remote, plan: RefPlan): Promise<void> {
  try {
    await plan.undo?.();
  } catch (err) {
    log.warn({ err, workspaceId: id }, 'failed to clean up after a refused push');
  }
}

/** Runs outside of any transaction, so that the notice is not rolled back. Rethrows what is not a refusal. */
async function refuse(
  deps: Deps,
  context: PushContext,
  { command, error }: { readonly command: RefCommand; readonly error: unknown },
): Promise<Outcome> {
  return refusedOutcome(context, command.ref === MAIN ? await refuseMain(deps, context, error) : error);
}
