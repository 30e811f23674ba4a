import { createHmac, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { TestApp } from './create-test-app.js';
import { type LocalServer, startLocalServer } from './local-server.js';
import { archiveOf } from './tar.js';

export const KINDS = ['github', 'gitlab', 'gitea'] as const;
export type Kind = (typeof KINDS)[number];

/** A code host on 127.0.0.1 over real HTTP: it answers the archives of what was pushed to it, and makes its payloads. */
export interface PlayedHost {
  readonly server: LocalServer;
  /** Pushes these files, and answers the commit. */
  push(files: Readonly<Record<string, string>>): string;
  /** The payload of a push of that commit, as a host of this kind writes it. */
  payload(kind: Kind, commit: string, more?: { readonly ref?: string; readonly message?: string }): object;
  /** What it answers instead of archives; null puts that right. */
  answerWith(answer: ((response: ServerResponse) => void) | null): void;
}

const REPO = 'acme/desk';
const ARCHIVES: Readonly<Record<Kind, RegExp>> = {
  github: /^\/api\/v3\/repos\/acme\/desk\/tarball\/([0-9a-f]{40})$/,
  gitlab: /^\/api\/v4\/projects\/acme%2Fdesk\/repository\/archive\.tar\.gz\?sha=([0-9a-f]{40})$/,
  gitea: /^\/api\/v1\/repos\/acme\/desk\/archive\/([0-9a-f]{40})\.tar\.gz$/,
};

export async function startCodeHost(): Promise<PlayedHost> {
  const archives = new Map<string, Buffer>();
  let override: ((response: ServerResponse) => void) | null = null;
  const server = await startLocalServer((request, response) => {
    if (override) return override(response);
    const commit = Object.values(ARCHIVES).flatMap((pattern) => pattern.exec(request.path)?.[1] ?? [])[0];
    const archive = commit === undefined ? undefined : archives.get(commit);
    if (!archive) return void response.writeHead(404).end('no such commit');
    response.writeHead(200, { 'content-type': 'application/x-gzip' }).end(archive);
  });
  return {
    server,
    push(files) {
      const commit = randomBytes(20).toString('hex');
      archives.set(commit, archiveOf(files, { commit }));
      return commit;
    },
    payload: (kind, commit, more = {}) => PAYLOADS[kind](server.url, commit, more),
    answerWith(answer) {
      override = answer;
    },
  };
}

const author = { name: 'Ada Lovelace', email: 'ada@example.com', username: 'ada' };

function githubLike(url: string, commit: string, { ref = 'refs/heads/main', message = 'Greet by name' }): object {
  const head = { id: commit, message, author };
  const first = { id: 'b'.repeat(40), message: 'Begin', author: { name: 'Grace Hopper' } };
  return {
    ref,
    before: 'c'.repeat(40),
    after: commit,
    commits: [first, head],
    head_commit: head,
    pusher: { name: 'ada' },
    repository: { id: 1, full_name: REPO, html_url: `${url}/${REPO}`, clone_url: `${url}/${REPO}.git`, private: true },
  };
}

const PAYLOADS: Readonly<
  Record<Kind, (url: string, commit: string, more: { ref?: string; message?: string }) => object>
> = {
  github: githubLike,
  gitea: githubLike,
  gitlab: (url, commit, { ref = 'refs/heads/main', message = 'Greet by name' }) => ({
    object_kind: 'push',
    event_name: 'push',
    ref,
    before: 'c'.repeat(40),
    after: commit,
    user_name: 'Ada',
    project: { id: 15, web_url: `${url}/${REPO}`, path_with_namespace: REPO, git_http_url: `${url}/${REPO}.git` },
    commits: [
      { id: 'b'.repeat(40), message: 'Begin', author: { name: 'Grace Hopper' } },
      { id: commit, message, author },
    ],
  }),
};

export const SECRET = "It's a Secret to Everybody";

/** The headers that a host of this kind sends with the body. */
export function headersOf(
  kind: Kind,
  body: string,
  { secret = SECRET, id = randomBytes(8).toString('hex'), event = '' } = {},
) {
  const hex = createHmac('sha256', secret).update(body).digest('hex');
  return {
    github: { 'x-github-event': event || 'push', 'x-github-delivery': id, 'x-hub-signature-256': `sha256=${hex}` },
    gitea: {
      'x-gitea-event': event || 'push',
      'x-github-event': event || 'push',
      'x-gitea-delivery': id,
      'x-github-delivery': id,
      'x-gitea-signature': hex,
    },
    gitlab: { 'x-gitlab-event': event || 'Push Hook', 'x-gitlab-event-uuid': id, 'x-gitlab-token': secret },
  }[kind];
}

/** Posts a payload as its host does. */
export async function sendPush(
  app: TestApp,
  {
    workspace,
    kind,
    payload,
    query = '',
    ...more
  }: {
    readonly workspace: string;
    readonly kind: Kind;
    readonly payload: unknown;
    readonly query?: string;
    readonly secret?: string;
    readonly id?: string;
    readonly event?: string;
  },
): Promise<[number, unknown]> {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const response = await app.request(`/api/git/${app.tenant}/${workspace}${query}`, {
    as: null,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headersOf(kind, body, more) },
    body,
  });
  return [response.status, await response.json()];
}
