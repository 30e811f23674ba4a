import { changeFlow, livePlan } from '../../content/index.js';
import type { ScheduleBody, ScheduleChanged } from '../../contract/schedules.js';
import type { Deps } from '../../deps.js';
import type { Plan } from '../../format/index.js';
import { audit, findWorkspace, type RecordAnswer, readPreview, type WorkspaceRow } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { announceStarted, type BegunRun, findTarget } from '../../runs/index.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { beginScheduled } from './begin-firing.js';
import { lockSchedule, readSchedule } from './schedule-row.js';

interface ChangeScheduleInput {
  readonly workspace: string;
  readonly flow: string;
  readonly action: 'pause' | 'resume' | 'run-now' | 'set';
  readonly cron?: string | undefined;
  readonly timezone?: string | null | undefined;
  /** Records the answer in the transaction of the change. */
  readonly recordAnswer?: RecordAnswer | undefined;
}

type Act = (deps: Deps, caller: Caller, input: ChangeScheduleInput) => Promise<ScheduleChanged>;

const ACTIONS = {
  pause: (deps, caller, input) => setPaused(deps, caller, input, true),
  resume: (deps, caller, input) => setPaused(deps, caller, input, false),
  'run-now': runNow,
  set: setTimes,
} as const satisfies Record<ChangeScheduleInput['action'], Act>;

/** Pauses, resumes, starts or sets the schedule of a flow. A schedule that the caller may not see is not found. */
export async function changeSchedule(deps: Deps, caller: Caller, input: ChangeScheduleInput): Promise<ScheduleChanged> {
  const { workspace, flow, action, cron, timezone } = input;
  if (!(await readSchedule(deps, caller, workspace, flow))) return changeWithoutRow(deps, caller, input);
  if (action !== 'set' && (cron !== undefined || timezone !== undefined))
    throw new Refusal('refused', `action: ${action} takes neither cron nor timezone: use set to change them`, {
      code: 'invalid',
    });
  return ACTIONS[action](deps, caller, input);
}

/** For flows without a schedule row: changes a preview's flow, or refuses with the reason. */
async function changeWithoutRow(deps: Deps, caller: Caller, input: ChangeScheduleInput): Promise<ScheduleChanged> {
  const changed = await changeInPreview(deps, caller, input).catch((error: unknown) => {
    // If the workspace is not found, neither is its schedule.
    if (error instanceof Refusal && error.kind === 'not_found') return null;
    throw error;
  });
  if (changed) return changed;
  throw (await isUnscheduled(deps, caller, input))
    ? new Refusal('not_found', `flow ${input.flow} has no schedule: add \`trigger: schedule\` and \`cron:\` to it`)
    : notFound('schedule');
}

/** True if the caller may see a flow of that name and it has no schedule trigger. */
async function isUnscheduled({ db }: Deps, caller: Caller, at: ChangeScheduleInput): Promise<boolean> {
  try {
    const { live } = await findTarget(db, caller, { workspace: at.workspace, target: `flows/${at.flow}` });
    return !live.plan.triggers.includes('schedule');
  } catch (error) {
    if (error instanceof Refusal && error.kind === 'not_found') return false;
    throw error;
  }
}

/** Reads the schedule. Refuses if it does not exist or the caller may not see it. */
async function viewOf(
  { clock }: Pick<Deps, 'clock'>,
  sql: Sql,
  caller: Caller,
  { workspace, flow }: Pick<ChangeScheduleInput, 'workspace' | 'flow'>,
): Promise<ScheduleBody> {
  const schedule = await readSchedule({ clock, db: sql }, caller, workspace, flow);
  if (!schedule) throw notFound('schedule');
  return schedule;
}

interface Found {
  readonly sql: Sql;
  readonly workspace: WorkspaceRow;
  readonly paused: boolean;
}

/** Changes the schedule under its lock, and reads the new state in the same transaction. */
async function change(
  deps: Deps,
  caller: Caller,
  input: ChangeScheduleInput,
  work: (at: Found) => Promise<BegunRun | null>,
): Promise<ScheduleChanged> {
  const { answer, begun } = await deps.db.transaction(async (sql) => {
    const { id } = await findWorkspace(sql, caller, input.workspace);
    const locked = await lockSchedule(sql, { workspace: id, flow: input.flow });
    if (!locked) throw notFound('schedule');
    const run = await work({ sql, workspace: locked.workspace, paused: locked.schedule.paused });
    const schedule = await viewOf(deps, sql, caller, input);
    const changed: ScheduleChanged = { ok: true, schedule, runId: run?.runId ?? null };
    await input.recordAnswer?.(sql, changed);
    return { answer: changed, begun: run };
  });
  if (begun) announceStarted(deps, begun);
  return answer;
}

/** Times that pass while the schedule is paused are not caught up. */
function setPaused(deps: Deps, caller: Caller, input: ChangeScheduleInput, paused: boolean): Promise<ScheduleChanged> {
  return change(deps, caller, input, async ({ sql, ...at }) => {
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

function runNow(deps: Deps, caller: Caller, input: ChangeScheduleInput): Promise<ScheduleChanged> {
  return change(deps, caller, input, async ({ sql, workspace }) => {
    const begun = await beginScheduled(deps, sql, { caller, workspace, flow: input.flow, at: deps.clock.now() });
    if (!begun)
      throw new Refusal(
        'conflict',
        `flow ${input.flow} has as many runs at work as its concurrency allows: wait for one to end`,
      );
    await audit(sql, caller, 'schedule.run-now', input.flow, { workspace: input.workspace, run: begun.runId });
    return begun;
  });
}

/** Edits the flow's own keys in place, as a deploy. Invalid values are refused with a deploy's issues. */
async function setTimes(deps: Deps, caller: Caller, input: ChangeScheduleInput): Promise<ScheduleChanged> {
  const { workspace, flow, cron, timezone } = input;
  const trigger = { ...(cron === undefined ? {} : { cron }), ...(timezone === undefined ? {} : { timezone }) };
  if (Object.keys(trigger).length === 0)
    throw new Refusal('refused', 'action: set needs cron, timezone or both', { code: 'invalid' });
  let answer: ScheduleChanged | undefined;
  await changeFlow(deps, caller, {
    workspace,
    flow,
    changes: [{ kind: 'trigger', trigger }],
    expect: {},
    recordAnswer: async (sql) => {
      await audit(sql, caller, 'schedule.set', flow, { workspace, ...trigger });
      answer = { ok: true, schedule: await viewOf(deps, sql, caller, input), runId: null };
      await input.recordAnswer?.(sql, answer);
    },
  });
  // Nothing was written if the flow has these times already.
  return answer ?? { ok: true, schedule: await viewOf(deps, deps.db, caller, input), runId: null };
}

/**
 * A preview's schedules never fire, but `run-now` can start a run of such a flow. Null when the workspace is not a
 * preview.
 */
async function changeInPreview(
  deps: Deps,
  caller: Caller,
  { workspace: name, flow, action, recordAnswer }: ChangeScheduleInput,
): Promise<ScheduleChanged | null> {
  const { id } = await findWorkspace(deps.db, caller, name);
  if (!(await readPreview(deps.db, id))) return null;
  const begun = await deps.db.transaction(async (sql) => {
    const workspace = await findWorkspace(sql, caller, name, 'share');
    const live = await livePlan(sql, workspace, `flows/${flow}`);
    if (!live?.plan.triggers.includes('schedule')) throw notFound('schedule');
    if (action !== 'run-now')
      throw new Refusal('conflict', 'a preview’s flows never fire: run-now starts one, and all else is its branch’s', {
        code: 'preview',
      });
    const run = await beginScheduled(deps, sql, { caller, workspace, flow, at: deps.clock.now() });
    if (!run)
      throw new Refusal(
        'conflict',
        `flow ${flow} has as many runs at work as its concurrency allows: wait for one to end`,
      );
    await audit(sql, caller, 'schedule.run-now', flow, { workspace: name, run: run.runId });
    const answer: ScheduleChanged = {
      ok: true,
      schedule: declaredSchedule(workspace, flow, live.plan),
      runId: run.runId,
    };
    await recordAnswer?.(sql, answer);
    return { run, answer };
  });
  announceStarted(deps, begun.run);
  return begun.answer;
}

/** The schedule as its file declares it, without times to fire at. */
function declaredSchedule({ name }: WorkspaceRow, flow: string, { trigger, enabled }: Plan): ScheduleBody {
  const declared = trigger as Partial<Record<'cron' | 'timezone' | 'catch_up' | 'overlap', string>>;
  return {
    workspace: name,
    flow,
    cron: declared.cron ?? '',
    timezone: declared.timezone ?? 'UTC',
    next: [],
    fault: null,
    lastRun: null,
    enabled,
    paused: false,
    catchUp: (declared.catch_up ?? 'last') as ScheduleBody['catchUp'],
    overlap: (declared.overlap ?? 'skip') as ScheduleBody['overlap'],
    firings: [],
  };
}
