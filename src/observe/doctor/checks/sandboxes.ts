import { listPrograms } from '../../../sandbox/index.js';
import { type Check, type Fault, IN_SCOPE, type Scene } from '../check.js';

/** A program and its folder exist only for a run that is working. */
export const sandboxes: Check = {
  remedy:
    'The worker of that machine ends and removes what is left within a minute: check that it is alive; a process that stays can be killed.',
  async find(scene) {
    const registered = await scene.deps.db.query<Fault>(
      `SELECT x.run_id AS run, format('does not work on lane %s, but program %s is registered for it', x.lane, x.pid) AS says
        FROM sandbox_process x LEFT JOIN run r ON r.id = x.run_id LEFT JOIN lane l ON l.run_id = x.run_id AND l.lane = x.lane
        WHERE (r.id IS NULL AND $1::text IS NULL OR ${IN_SCOPE}) AND (r.id IS NULL OR r.finished_at IS NOT NULL OR l.state <> 'running')
          AND NOT EXISTS (SELECT 1 FROM tool_test t WHERE t.id = x.run_id AND t.finished_at IS NULL)`,
      [scene.root],
    );
    return [...registered, ...(await onThisMachine(scene))];
  },
};

async function onThisMachine({ deps, root }: Scene): Promise<Fault[]> {
  const { programs, folders } = await listPrograms(deps.config.dataDir);
  const runs = [...new Set([...programs.map(({ run }) => run), ...folders])];
  const rows = await deps.db.query<{ id: string; live: boolean; late: boolean }>(
    `SELECT r.id, r.finished_at IS NULL AS live, r.finished_at < now() - interval '90 seconds' AS late
      FROM run r WHERE r.id = ANY($2) AND ${IN_SCOPE}
      UNION ALL SELECT t.id, true, NULL FROM tool_test t WHERE t.id = ANY($2) AND t.finished_at IS NULL`,
    [root, runs],
  );
  const of = new Map(rows.map((row) => [row.id, row]));
  const isOurs = (run: string) => root === null || of.has(run);
  return [
    ...programs
      .filter(({ run }) => isOurs(run) && !of.get(run)?.live)
      .map(({ run, pid }) => ({ run, says: `is not live, but its program ${pid} is` })),
    ...folders
      .filter((run) => isOurs(run) && !of.get(run)?.live && of.get(run)?.late !== false)
      .map((run) => ({ run, says: 'is not live, but its folder under scratch is there' })),
  ];
}
