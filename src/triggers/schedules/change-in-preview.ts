import { livePlan } from '../../content/index.js';
import type { ScheduleBody, ScheduleChanged } from '../../contract/schedules.js';
import type { Deps } from '../../deps.js';
import type { Plan } from '../../format/index.js';
import { audit, findWorkspace, readPreview, type WorkspaceRow } from '../../people/index.js';
import { announceStarted } from '../../runs/index.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { beginScheduled } from './begin-firing.js';
import type { ChangeScheduleInput } from './change-schedule.js';

/**
 * A preview's schedules never fire, but `run-now` can start a run of such a flow. Null when the workspace is not a
 * preview.
 */
export async function changeInPreview(
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
    const answer: ScheduleChanged = { ok: true, schedule: neverFiring(workspace, flow, live.plan), runId: run.runId };
    await recordAnswer?.(sql, answer);
    return { run, answer };
  });
  announceStarted(deps, begun.run);
  return begun.answer;
}

/** The schedule as its file declares it, without times to fire at. */
function neverFiring({ name }: WorkspaceRow, flow: string, { trigger, enabled }: Plan): ScheduleBody {
  const said = trigger as Partial<Record<'cron' | 'timezone' | 'catch_up' | 'overlap', string>>;
  return {
    workspace: name,
    flow,
    cron: said.cron ?? '',
    timezone: said.timezone ?? 'UTC',
    next: [],
    fault: null,
    lastRun: null,
    enabled,
    paused: false,
    catchUp: (said.catch_up ?? 'last') as ScheduleBody['catchUp'],
    overlap: (said.overlap ?? 'skip') as ScheduleBody['overlap'],
    firings: [],
  };
}
