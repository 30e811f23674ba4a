import { audit } from './doctor.js';
import { FIRE, startFireProvider } from './fire-flow.js';
import { createServices, type DrivenService, driveRun, temporalAddress } from './service.js';
import { sharedServers } from './shared-servers.js';

/**
 * A data folder, its provider and its workspace, over which services come and go. Their servers are those that all tests
 * share, or their `own`: embedded ones, which lose their parent when it is killed, and are started again with the next.
 */
export async function createFire(servers: 'shared' | 'own', delayMs = 0) {
  const shared = servers === 'shared' ? await sharedServers() : null;
  const provider = await startFireProvider(delayMs);
  const services = await createServices(provider);
  const dataDir = await services.folder();
  let workspace = '';

  async function start(env: Readonly<Record<string, string>> = {}): Promise<DrivenService> {
    const service = await services.startService({ dataDir, env: { ...shared?.env, ...env } });
    if (workspace === '') workspace = await service.workspace(FIRE);
    return service;
  }

  return {
    provider,
    services,
    dataDir,
    /** What a program must know to find the installation. */
    env: { ...shared?.env, SERVICE_DATA_DIR: dataDir },
    workspace: () => workspace,
    start,
    reportDeaths: async () => shared?.reportDeaths(),
    /** What the doctor finds wrong with a completed run. */
    audit: async (service: DrivenService, runId: string) =>
      audit({
        db: service.db,
        dataDir,
        temporal: shared?.temporal ?? (await temporalAddress(dataDir)),
        runId,
        calls: provider.byKey(),
      }),
    /**
     * A run over a service that is killed at each of these points in turn and started again; then it goes on in peace.
     * Where it stands after a kill depends on who was quicker: when it ends without coming by a point, a new run is
     * started there, so that every point does kill. Answers the last service and how each run came out. Kills are
     * reported to Temporal, unless it is to notice them by itself.
     */
    async survive(points: readonly string[], { reports = true }: { readonly reports?: boolean } = {}) {
      const runs: string[] = [];
      const report = async () => (reports ? shared?.reportDeaths() : undefined);
      // The service may die before it answers a start: then the row tells the id.
      const begin = async (service: DrivenService) => {
        const id = await service.start(workspace, 'fire', { task: 'go' }).catch(() => null);
        if (id !== null) runs.push(id);
        return id;
      };
      for (const [index, point] of points.entries()) {
        const service = await start({ SERVICE_FAILPOINT: point }).catch(unlessKilled);
        // What was left undone may bring it to the point before it is ready.
        if (service === null) {
          await report();
          continue;
        }
        let id = index === 0 ? await begin(service) : await newestRun(service).catch(() => null);
        if (id !== null && (await driveRun(service, { workspace, id })) !== 'died') {
          id = await begin(service);
          if (id !== null && (await driveRun(service, { workspace, id })) !== 'died')
            throw new Error(`a whole run never came by ${point}`);
        }
        await service.exited;
        await report();
      }
      const service = await start();
      runs.push(await newestRun(service));
      const ended = [...new Set(runs)].map(async (id) => ({
        id,
        run: await driveRun(service, { workspace, id }),
      }));
      return { service, ended: await Promise.all(ended) };
    },
    async close() {
      await services.close();
      await provider.close();
      await shared?.drop();
    },
  };
}

async function newestRun(service: DrivenService): Promise<string> {
  const [row] = await service.db.query<{ id: string }>(
    'SELECT id FROM run WHERE parent_id IS NULL ORDER BY created_at DESC LIMIT 1',
  );
  if (!row) throw new Error('no run was committed');
  return row.id;
}

/** The first words of a start that was cut short by a signal: see service-host.ts. */
function unlessKilled(error: unknown): null {
  if (error instanceof Error && error.message.startsWith('exit null')) return null;
  throw error;
}
