import { beforeAll, expect, test } from 'vitest';
import type { ScheduleBody } from '../../src/contract/schedules.js';
import { examine } from '../../src/observe/index.js';
import { fireSchedule, reconcileSchedules, syncSchedules } from '../../src/triggers/index.js';
import { createEngineApp, type EngineApp } from '../support/create-engine-app.js';
import { scripted } from '../support/flows.js';
import { bodyOf } from '../support/workspace-app.js';

const scheduled = '---\ntrigger: schedule\ncron: "30 8 * * 1-5"\ntimezone: UTC\n---\n\n## One @worker\n\nGo.\n';

let app: EngineApp;
let workspace: string;
let id: string;
beforeAll(async () => {
  app = await createEngineApp();
  workspace = await app.workspace({
    ...scripted('- { text: done }\n'),
    'flows/good.md': scheduled,
    'flows/line.md': scheduled,
    'flows/step.md': scheduled,
    'flows/zone.md': scheduled,
  });
  const [row] = await app.deps.db.query<{ id: string }>('SELECT id FROM workspace WHERE name = $1', [workspace]);
  id = row?.id ?? '';
});

/** As an older release, or another build's time zones, let it through: in the plan, and so in the row. */
async function live(flow: string, key: 'cron' | 'timezone', value: string): Promise<void> {
  await app.deps.db.query(
    `UPDATE plan p SET body = jsonb_set(body, ARRAY['trigger', $3], to_jsonb($4::text)) FROM workspace w
        JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq
      WHERE w.id = $1 AND p.workspace_id = w.id AND p.id = r.plans->>('flows/' || $2)`,
    [id, flow, key, value],
  );
}

const listed = async () => {
  const { schedules } = (await bodyOf(app.get('/api/schedule?limit=200'))) as { schedules: ScheduleBody[] };
  return schedules.filter((one) => one.workspace === workspace);
};

test('a schedule that cannot be read hides no other one: in the list, in the loops, and in the doctor, which names it', async () => {
  await live('line', 'cron', '30 8 *');
  await live('step', 'cron', '*/0 * * * *');
  await live('zone', 'timezone', 'Mars/Olympus');
  await reconcileSchedules(app.deps);

  expect((await listed()).map(({ flow, next, fault }) => [flow, next.length, fault === null])).toEqual([
    ['good', 3, true],
    ['line', 0, false],
    ['step', 0, false],
    ['zone', 0, false],
  ]);
  // All are told: the loop does not come back to them twice a second.
  const untold = await app.deps.db.query('SELECT flow FROM schedule WHERE workspace_id = $1 AND NOT told', [id]);
  expect([untold, await syncSchedules(app.deps)]).toEqual([[], 0]);
  for (const flow of ['line', 'step', 'zone']) await fireSchedule(app.deps, { workspace: id, flow }, Date.now());

  const found = (await examine({ deps: app.deps, root: null }, 0)).filter(({ says }) => says.includes(id));
  const named = found.map(({ check, says }) => [check, /^Flow (\w+) .* cannot be read/.exec(says)?.[1] ?? says]);
  expect(named.sort()).toEqual([
    ['schedules', 'line'],
    ['schedules', 'step'],
    ['schedules', 'zone'],
  ]);
});

test('a schedule that is mended by a deploy fires again', async () => {
  const path = `/api/workspaces/${workspace}/source?path=flows/line.md`;
  const content = scheduled.replace('30 8  * * 1-5', '45 9 * * *').replace('30 8 * * 1-5', '45  9 * * *');
  expect((await app.put(path, { content })).status).toBe(200);
  const line = (await listed()).find(({ flow }) => flow === 'line');
  expect(line).toMatchObject({ cron: '45 9 * * *', fault: null });
  expect(line?.next).toHaveLength(3);
});
