import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, beforeEach } from 'vitest';
import { routes } from '../../src/api/routes/index.js';
import { alignRefs } from '../../src/content/index.js';
import { commitTo, git } from './branches.js';
import { bodyOf, createWorkspaceApp, SMALL, type WorkspaceApp } from './workspace-app.js';

type Body = Awaited<ReturnType<typeof bodyOf>>;

export interface RepoStage {
  readonly app: WorkspaceApp;
  /** A new one for each test. */
  readonly ws: { readonly name: string; readonly id: string };
  path(query?: string): string;
  repo(query?: string): Promise<Body>;
  live(): Promise<Record<string, string>>;
  history(): Promise<Body>;
  /** The commit of main. */
  head(): Promise<string>;
  /** Posts an action, and answers the status and the body. */
  act(body: object, init?: object): Promise<readonly [number, Body]>;
  /** Commits of these files on a branch from main; answers the last. */
  branch(name: string, ...commits: Record<string, string | null>[]): Promise<string>;
  /** Looks at a clone of what the service serves, which git finds whole and sound. */
  cloned<T>(work: (folder: string) => T): Promise<T>;
}

/** For a file of tests: call it at the top. */
export function stageRepo(): RepoStage {
  const now = {} as { app: WorkspaceApp; ws: RepoStage['ws'] };
  beforeAll(async () => {
    now.app = await createWorkspaceApp({ routes });
  });
  beforeEach(async () => {
    now.ws = await now.app.workspace({ ...SMALL, 'knowledge/a.md': 'One\nTwo\nThree\n' });
  });
  const path = (query = '') => `/api/workspaces/${now.ws.name}/repo${query}`;
  const repo = (query = '') => bodyOf(now.app.get(path(query)));
  return {
    get app() {
      return now.app;
    },
    get ws() {
      return now.ws;
    },
    path,
    repo,
    live: () => now.app.readTree(now.ws.name),
    history: async () => (await bodyOf(now.app.get(`/api/workspaces/${now.ws.name}/history`))).changes,
    head: async () => (await repo()).branches[0].commit as string,
    act: async (body, init = {}) => {
      const response = await now.app.post(path(), body, init);
      return [response.status, await bodyOf(response)];
    },
    branch: (name, ...commits) => commitTo(now.app, now.ws.id, { ref: `refs/heads/${name}`, commits }),
    cloned: async (work) => {
      const repository = await alignRefs(now.app.deps, now.ws.id);
      const folder = mkdtempSync(join(tmpdir(), 'signalbox-check-'));
      try {
        execFileSync('git', ['clone', '-q', '--no-local', repository?.gitdir ?? '', folder]);
        git(folder, 'fsck', '--full', '--strict');
        return work(folder);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}
