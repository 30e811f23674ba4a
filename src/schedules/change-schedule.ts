import { audit } from '../accounts/index.js';
import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import { changeFlow } from '../documents/index.js';
import { tellBegun } from '../runs/index.js';
import { notFound, Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { findWorkspace, type WorkspaceRow } from '../workspaces/index.js';
import { beginScheduled } from './begin-firing.js';
import { changeInPreview } from './change-in-preview.js';
import { readSchedule, type ScheduleView } from './list-schedules.js';
import { lockSchedule } from './schedule-row.js';

export interface ChangeScheduleInput {
  readonly workspace: string;
  readonly flow: string;
  readonly action: 'pause' | 'resume' | 'run-now' | 'set';
  readonly cron?: string | undefined;
  readonly timezone?: string | null | undefined;
}

export interface ChangedSchedule {
  readonly ok: true;
  readonly schedule: ScheduleView;
  /** The run that was started; null for what starts none. */
  readonly runId: string | null;
}

type Act = (deps: Deps, caller: Caller, input: ChangeScheduleInput) => Promise<string | null>;

/** What each action does; answers the run that it started. */
const ACTIONS = {
  pause: (deps, caller, input) => setPaused(deps, caller, input, true),
  resume: (deps, caller, input) => setPaused(deps, caller, input, false),
  'run-now': runNow,
  set: setTimes,
} as const satisfies Record<ChangeScheduleInput['action'], Act>;

/** Pauses, resumes, starts or sets the schedule of a flow. A schedule that the caller does not see is missing. */
export async function changeSchedule(deps: Deps, caller: Caller, input: ChangeScheduleInput): Promise<ChangedSchedule> {
  const { workspace, flow, action, cron, timezone } = input;
  if (!(await readSchedule(deps, caller, workspace, flow))) return elsewhere(deps, caller, input);
  if (action !== 'set' && (cron !== undefined || timezone !== undefined))
    throw new Refusal('refused', `action: ${action} takes neither cron nor timezone: use set to change them`, {
      code: 'invalid',
    });
  const runId = await ACTIONS[action](deps, caller, input);
  const schedule = await readSchedule(deps, caller, workspace, flow);
  if (!schedule) throw notFound('schedule');
  return { ok: true, schedule, runId };
}

/** There is no such schedule for the caller: what there may be is a preview's flow. */
async function elsewhere(deps: Deps, caller: Caller, input: ChangeScheduleInput): Promise<ChangedSchedule> {
  const changed = await changeInPreview(deps, caller, input).catch((error: unknown) => {
    // A workspace that is not the caller's has no schedule of theirs either.
    if (error instanceof Refusal && error.kind === 'not_found') return null;
    throw error;
  });
  if (changed) return changed;
  throw notFound('schedule');
}

async function found<T>(
  deps: Deps,
  caller: Caller,
  { workspace, flow }: ChangeScheduleInput,
  work: (sql: Sql, at: { readonly workspace: WorkspaceRow; readonly paused: boolean }) => Promise<T>,
): Promise<T> {
  return deps.db.transaction(async (sql) => {
    const { id } = await findWorkspace(sql, caller, workspace);
    const locked = await lockSchedule(sql, { workspace: id, flow });
    if (!locked) throw notFound('schedule');
    return work(sql, { workspace: locked.workspace, paused: locked.schedule.paused });
  });
}

/** Times that pass while it is paused are not made up for. */
function setPaused(deps: Deps, caller: Caller, input: ChangeScheduleInput, paused: boolean): Promise<null> {
  return found(deps, caller, input, async (sql, at) => {
    if (at.paused === paused) return null;
    await sql.query(
      `UPDATE schedule SET paused = $3, told = false, version = nextval('schedule_version_seq'),
        settled_until = CASE WHEN $3 THEN settled_until ELSE greatest(settled_until, to_timestamp($4::float8 / 1000)) END
        WHERE workspace_id = $1 AND flow = $2`,
      [at.workspace.id, input.flow, paused, deps.clock.now()],
    );
    await audit(sql, caller, paused ? 'schedule.pause' : 'schedule.resume', input.flow, { workspace: input.workspace });
    return null;
  });
}

async function runNow(deps: Deps, caller: Caller, input: ChangeScheduleInput): Promise<string> {
  const run = await found(deps, caller, input, async (sql, { workspace }) => {
    const begun = await beginScheduled(deps, sql, { caller, workspace, flow: input.flow, at: deps.clock.now() });
    if (!begun)
      throw new Refusal(
        'conflict',
        `flow ${input.flow} has as many runs at work as its concurrency allows: wait for one to end`,
      );
    await audit(sql, caller, 'schedule.run-now', input.flow, { workspace: input.workspace, run: begun.runId });
    return begun;
  });
  tellBegun(deps, run);
  return run.runId;
}

/** Edits the flow's own keys where they stand, as a deploy: what is wrong with them is refused as a deploy's issues are. */
async function setTimes(
  deps: Deps,
  caller: Caller,
  { workspace, flow, cron, timezone }: ChangeScheduleInput,
): Promise<null> {
  const trigger = { ...(cron === undefined ? {} : { cron }), ...(timezone === undefined ? {} : { timezone }) };
  if (Object.keys(trigger).length === 0)
    throw new Refusal('refused', 'action: set needs cron, timezone or both', { code: 'invalid' });
  await changeFlow(deps, caller, { workspace, flow, changes: [{ kind: 'trigger', trigger }], expect: {} });
  await audit(deps.db, caller, 'schedule.set', flow, { workspace, ...trigger });
  return null;
}
