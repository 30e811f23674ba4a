import type { FakeProvider } from './fake-provider.js';
import { createServices } from './service.js';
import { sharedServers } from './shared-servers.js';

type Env = Readonly<Record<string, string>>;

/** An API on the shared servers, and workers in processes of their own that come and go. */
export async function startCrew(provider: FakeProvider, more: Env = {}) {
  const [servers, services] = await Promise.all([sharedServers(), createServices(provider)]);
  const close = async () => {
    await services.close();
    await provider.close();
    await servers.drop();
  };
  try {
    const env = { ...servers.env, ...more };
    const dataDir = await services.folder();
    const api = await services.startService({ dataDir, env: { ...env, SERVICE_ROLE: 'api' } });
    const startWorker = (own: Env = {}) => services.startWorker(dataDir, { ...env, ...own });
    const { temporal, reportDeaths } = servers;
    return { api, temporal, reportDeaths, startWorker, close };
  } catch (error) {
    await close();
    throw error;
  }
}

export type Crew = Awaited<ReturnType<typeof startCrew>>;
