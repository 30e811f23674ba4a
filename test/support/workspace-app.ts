import { deployRoutes } from '../../src/api/routes/deploys.js';
import { historyRoutes } from '../../src/api/routes/history.js';
import { sourceRoutes } from '../../src/api/routes/source.js';
import { workspaceRoutes } from '../../src/api/routes/workspaces.js';
import { type MemoryOutcome, writeMemory } from '../../src/content/index.js';
import { blobId } from '../../src/git/index.js';
import { createModels } from '../../src/models/index.js';
import type { Config } from '../../src/platform/config/index.js';
import { createBlobStore } from '../../src/platform/storage/index.js';
import { systemClock } from '../../src/shared/clock.js';
import { newId } from '../../src/shared/ids.js';
import { createTestApp, createTestDeps, type TestApp, type TestAppOptions } from './create-test-app.js';
import { directChecker } from './direct-checker.js';
import { silentLog } from './silent-log.js';

export const noModels: Config['models'] = {
  file: null,
  single: null,
  apiKeys: {},
  waitMs: 1_800_000,
  env: () => undefined,
};

export type Tree = Readonly<Record<string, string>>;

export interface WorkspaceApp extends TestApp {
  /** Makes a workspace of these files and answers its name and id. */
  workspace(files?: Tree): Promise<{ readonly name: string; readonly id: string }>;
  deploy(name: string, files: Tree, more?: object): Promise<Response>;
  /** The tree as the API shows it: path to content. */
  readTree(name: string): Promise<Record<string, string>>;
}

/** An app with everything that workspaces need, and its own data folder. */
export async function createWorkspaceApp(options: TestAppOptions = {}): Promise<WorkspaceApp> {
  const { config } = await createTestDeps();
  const app = await createTestApp({
    routes: [...workspaceRoutes, ...sourceRoutes, ...deployRoutes, ...historyRoutes],
    ...options,
    config: { dataDir: config.dataDir, ...options.config },
    deps: {
      checker: directChecker,
      blobs: createBlobStore({ dataDir: config.dataDir, s3: null }),
      models: createModels({ config: { ...config, models: noModels }, log: silentLog, clock: systemClock }),
      ...options.deps,
    },
  });
  return {
    ...app,
    workspace: (files = SMALL) => makeWorkspace(app, files),
    deploy: (name, files, more = {}) => app.post(`/api/workspaces/${name}/deploy`, { files: fileList(files), ...more }),
    readTree: (name) => readTree(app, name),
  };
}

export function fileList(files: Tree): { path: string; content: string }[] {
  return Object.entries(files).map(([path, content]) => ({ path, content }));
}

export const AGENT = '---\nname: writer\ndescription: Writes.\n---\n\nYou write.\n';
export const FLOW = '---\nname: hello\ndescription: Says hello.\n---\n\n## Say it @writer\n\nSay hello.\n';
/** Of `flows/hello.md`; nothing starts it but a test. */
export const EVAL =
  '---\nname: checks\ndescription: Checks.\ntarget: flows/hello\ntrigger: manual\n---\n\n## One\n\nHello.\n\n### Expect\n\n- status: completed\n';
export const SMALL: Tree = { 'AGENTS.md': '# Hello\n', 'agents/writer.md': AGENT, 'flows/hello.md': FLOW };

async function makeWorkspace(app: TestApp, files: Tree): Promise<{ name: string; id: string }> {
  const name = `w-${newId().slice(-12)}`;
  const response = await app.post('/api/workspaces', { name, files: fileList(files) });
  if (response.status !== 201) throw new Error(`no workspace: ${response.status} ${await response.text()}`);
  const [row] = await app.deps.db.query<{ id: string }>('SELECT id FROM workspace WHERE tenant_id = $1 AND name = $2', [
    app.tenant,
    name,
  ]);
  return { name, id: row?.id ?? '' };
}

async function readTree(app: TestApp, name: string): Promise<Record<string, string>> {
  const tree = (await (await app.get(`/api/workspaces/${name}/source`)).json()) as { files: { path: string }[] };
  const found: Record<string, string> = {};
  for (const { path } of tree.files) {
    const response = await app.get(`/api/workspaces/${name}/source?path=${encodeURIComponent(path)}`);
    found[path] = ((await response.json()) as { content: string }).content;
  }
  return found;
}

/** A live run's row, as starting one leaves it. */
export async function insertRun(app: TestApp, workspaceId: string, more: Partial<RunWish> = {}): Promise<string> {
  const id = newId();
  const run: RunWish = { status: 'running', mode: 'normal', parentId: null, finishedAt: null, ...more };
  await app.deps.db.query(
    `INSERT INTO run (id, tenant_id, workspace_id, flow, plan_id, revision, root_id, trigger, tags, memory_writes,
       status, mode, parent_id, finished_at)
     VALUES ($1, $2, $3, 'hello', 'p', 'r', $1, '{"kind":"manual"}', '{}', '{}', $4, $5, $6, $7)`,
    [id, app.tenant, workspaceId, run.status, run.mode, run.parentId, run.finishedAt],
  );
  return id;
}

export interface RunWish {
  readonly status: string;
  readonly mode: string;
  readonly parentId: string | null;
  readonly finishedAt: Date | null;
}

/** A response's JSON, for tests to look into. */
// biome-ignore lint/suspicious/noExplicitAny: each test says what it expects of the body
export async function bodyOf(response: Response | Promise<Response>): Promise<any> {
  return (await response).json();
}

/** A memory write as an agent's tool makes it, in a transaction of its own. `seen` is the text that the run has read. */
export async function agentWrites(
  app: TestApp,
  { id, ...write }: { id: string; path: string; content: string; seen: string | null; runId?: string; agent?: string },
): Promise<MemoryOutcome> {
  return app.deps.db.transaction((sql) =>
    writeMemory(sql, {
      workspaceId: id,
      runId: write.runId ?? 'run-1',
      agent: write.agent ?? 'writer',
      path: write.path,
      compose: () => Buffer.from(write.content),
      seen: write.seen === null ? null : blobId(Buffer.from(write.seen)),
      guard: async () => undefined,
    }),
  );
}
