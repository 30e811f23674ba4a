import { createHost } from './embedded-host.js';
import type { FakeProvider } from './fake-provider.js';
import { createServices } from './service.js';

type Env = Readonly<Record<string, string>>;

/** Servers of their own, an API on them, and workers in processes of their own that come and go. */
export async function startCrew(provider: FakeProvider, more: Env = {}) {
  const [servers, services] = await Promise.all([createHost(), createServices(provider)]);
  const close = async () => {
    await services.close();
    await servers.close();
    await provider.close();
  };
  try {
    const embedded = await servers.start(await servers.folder());
    const env = {
      DATABASE_URL: embedded.databaseUrl,
      TEMPORAL_ADDRESS: embedded.temporal.address,
      TEMPORAL_NAMESPACE: embedded.temporal.namespace,
      ...more,
    };
    const dataDir = await services.folder();
    const api = await services.startService({ dataDir, env: { ...env, SERVICE_ROLE: 'api' } });
    const startWorker = (own: Env = {}) => services.startWorker(dataDir, { ...env, ...own });
    return { api, temporal: embedded.temporal.address, startWorker, close };
  } catch (error) {
    await close();
    throw error;
  }
}

export type Crew = Awaited<ReturnType<typeof startCrew>>;
