import type { TestApp } from './create-test-app.js';
import { AGENT, bodyOf, type WorkspaceApp } from './workspace-app.js';

export interface Hook {
  readonly hookUrl: string;
  readonly inboxUrl: string;
}

/** A flow of one step, with these lines of frontmatter. */
export function hooked(frontmatter: string, name = 'hooked'): string {
  return `---\nname: ${name}\ndescription: X.\n${frontmatter}\n---\n\n## Say it @writer\n\nSay hello.\n`;
}

/** The flow's addresses, under a new token. */
export async function hookOf(app: TestApp, workspace: string, flow = 'hooked'): Promise<Hook> {
  const response = await app.post(`/api/workspaces/${workspace}/hooks/${flow}/rotate`);
  if (response.status !== 200) throw new Error(`no hook: ${response.status} ${await response.text()}`);
  const { hookUrl, inboxUrl } = (await response.json()) as Hook;
  const path = (url: string) => new URL(url).pathname + new URL(url).search;
  return { hookUrl: path(hookUrl), inboxUrl: path(inboxUrl) };
}

export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly type?: string;
}

/** Posts as another system does: without a credential of ours. */
export async function send(
  app: TestApp,
  url: string,
  body: unknown,
  { headers, type }: Sent = {},
): Promise<[number, unknown]> {
  const response = await app.request(url, {
    as: null,
    method: 'POST',
    headers: { 'content-type': type ?? 'application/json', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
  });
  const text = await response.text();
  return [response.status, text === '' ? null : JSON.parse(text)];
}

export interface RunRow {
  readonly id: string;
  readonly input: unknown;
  readonly trigger: { readonly [key: string]: unknown };
  readonly startedBy: unknown;
}

/** The runs of a workspace, the oldest first. */
export function runsOf(app: TestApp, workspace: string): Promise<readonly RunRow[]> {
  return app.deps.db.query<RunRow>(
    `SELECT r.id, r.input, r.trigger, r.started_by AS "startedBy" FROM run r JOIN workspace w ON w.id = r.workspace_id
      WHERE w.tenant_id = $1 AND w.name = $2 ORDER BY r.created_at, r.id`,
    [app.tenant, workspace],
  );
}

/** A workspace with the flow `hooked`, and what comes to it and of it. */
export async function startHook(app: WorkspaceApp, frontmatter: string) {
  const { name } = await app.workspace({ 'agents/writer.md': AGENT, 'flows/hooked.md': hooked(frontmatter) });
  const { hookUrl } = await hookOf(app, name);
  return {
    name,
    hookUrl,
    send: (body: unknown, more?: Sent) => send(app, hookUrl, body, more),
    runs: () => runsOf(app, name),
    deliveries: async () =>
      (await bodyOf(app.get(`/api/workspaces/${name}/hooks/hooked/deliveries?limit=200`))).deliveries,
  };
}
