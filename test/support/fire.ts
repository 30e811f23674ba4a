import { audit } from './doctor.js';
import { FIRE, startFireProvider } from './fire-flow.js';
import { createServices, type DrivenService, driveRun, temporalAddress } from './service.js';

/** A data folder, its provider and its workspace, over which services come and go. */
export async function createFire(delayMs = 0) {
  const provider = await startFireProvider(delayMs);
  const services = await createServices(provider);
  const dataDir = await services.folder();
  let workspace = '';

  async function start(env: Readonly<Record<string, string>> = {}): Promise<DrivenService> {
    const service = await services.startService({ dataDir, env });
    if (workspace === '') workspace = await service.workspace(FIRE);
    return service;
  }

  return {
    provider,
    services,
    dataDir,
    workspace: () => workspace,
    start,
    /** What the doctor finds wrong with a completed run. */
    audit: async (service: DrivenService, runId: string) =>
      audit({
        sql: service.db,
        dataDir,
        temporal: await temporalAddress(dataDir),
        runId,
        calls: provider.byKey(),
      }),
    /**
     * One run, over a service that is killed at each of these points in turn and started again; then it goes on in
     * peace. Answers the last service and how the run came out.
     */
    async survive(points: readonly string[], flow = 'fire') {
      const began = new Date();
      let id: string | null = null;
      for (const [index, point] of points.entries()) {
        const service = await start({ SERVICE_FAILPOINT: point }).catch(unlessKilled);
        // What was left undone may bring it to the point before it is ready.
        if (service === null) continue;
        // It may die before it answers: then the row tells the id.
        if (index === 0) id = await service.start(workspace, flow, { task: point }).catch(() => null);
        id ??= await newestRun(service, began).catch(() => null);
        const end = id === null ? 'died' : await driveRun(service, { workspace, id });
        if (end !== 'died') throw new Error(`the run ended without coming by ${point}: ${end.status} ${end.error}`);
        await service.exited;
      }
      const service = await start();
      const runId = id ?? (await newestRun(service, began));
      return { service, runId, run: await driveRun(service, { workspace, id: runId }) };
    },
    async close() {
      await services.close();
      await provider.close();
    },
  };
}

async function newestRun(service: DrivenService, since: Date): Promise<string> {
  const [row] = await service.db.query<{ id: string }>(
    'SELECT id FROM run WHERE parent_id IS NULL AND created_at >= $1 ORDER BY created_at DESC LIMIT 1',
    [since],
  );
  if (!row) throw new Error('no run was committed');
  return row.id;
}

/** The first words of a start that was cut short by a signal: see service-host.ts. */
function unlessKilled(error: unknown): null {
  if (error instanceof Error && error.message.startsWith('exit null')) return null;
  throw error;
}
