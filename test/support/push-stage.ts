import { beforeAll, beforeEach, expect } from 'vitest';
import { createLog } from '../../src/api/log.js';
import { routes } from '../../src/api/routes/index.js';
import type { Net } from '../../src/platform/net/contract.js';
import { createNet } from '../../src/platform/net/index.js';
import { type Kind, type PlayedHost, SECRET, sendPush, startCodeHost } from './code-host.js';
import { bodyOf, createWorkspaceApp, type WorkspaceApp } from './workspace-app.js';

export type Told = Partial<Parameters<typeof sendPush>[1]> & { readonly ref?: string; readonly message?: string };

export interface PushStage {
  readonly app: WorkspaceApp;
  /** A new one for each test, as is the workspace, which has the webhook's secret. */
  readonly host: PlayedHost;
  readonly ws: { readonly name: string; readonly id: string };
  /** What was logged. */
  readonly lines: readonly string[];
  put(name: string, value: string): Promise<Response>;
  pushes(): Promise<Awaited<ReturnType<typeof bodyOf>>>;
  /** Has the host tell of a push. */
  tell(kind: Kind, commit: string, more?: Told): Promise<[number, unknown]>;
}

/** For a file of tests: call it at the top. */
export function stagePushes(): PushStage {
  const lines: string[] = [];
  const now = {} as { app: WorkspaceApp; host: PlayedHost; ws: PushStage['ws'] };
  const put: PushStage['put'] = (name, value) => now.app.put('/api/secrets', { name, workspace: now.ws.name, value });
  beforeAll(async () => {
    const log = createLog('debug', { write: (line: string) => void lines.push(line) });
    now.app = await createWorkspaceApp({ routes, deps: { net: opened(null), log } });
  });
  beforeEach(async () => {
    now.host = await startCodeHost();
    now.ws = await now.app.workspace();
    expect((await put('GIT_WEBHOOK_SECRET', SECRET)).status).toBe(200);
  });
  return {
    get app() {
      return now.app;
    },
    get host() {
      return now.host;
    },
    get ws() {
      return now.ws;
    },
    lines,
    put,
    pushes: async () => (await bodyOf(now.app.get(`/api/workspaces/${now.ws.name}/repo/pushes`))).pushes,
    tell: (kind, commit, more = {}) =>
      sendPush(now.app, { workspace: now.ws.name, kind, payload: now.host.payload(kind, commit, more), ...more }),
  };
}

/** The guarded client, with 127.0.0.1 opened at these ports; null is all. */
export function opened(ports: readonly number[] | null): Net {
  const allowHosts = (ports ?? [null]).map((port) => ({ host: '127.0.0.1', port }));
  return createNet({ config: { allowHosts, version: '1' } });
}
