import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { git } from './branches.js';

export interface GitServer {
  /** Of its one repository. */
  readonly url: string;
  readonly port: number;
  /** That repository on the disk, bare. */
  readonly folder: string;
  /** The credentials that came, as `user:password`; null for a request without one. */
  readonly credentials: readonly (string | null)[];
  /** The refs that it has, by name. */
  refs(): Record<string, string>;
  /** Answers each request before git does, while it is set; true when it has. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | null;
}

/** The real `git http-backend` behind HTTP on 127.0.0.1, for whoever has the password; null lets anybody push. */
export async function startGitServer(password: string | null): Promise<GitServer> {
  const root = mkdtempSync(join(tmpdir(), 'signalbox-mirror-'));
  const folder = join(root, 'desk.git');
  execFileSync('git', ['init', '-q', '--bare', '-b', 'main', folder]);
  git(folder, 'config', 'http.receivepack', 'true');
  const credentials: (string | null)[] = [];
  const server = createServer((request, response) => {
    const credential = credentialOf(request);
    credentials.push(credential);
    if (played.intercept?.(request, response)) return;
    if (password !== null && credential?.split(':').slice(1).join(':') !== password) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    serve(root, request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    rmSync(root, { recursive: true, force: true });
  });
  const { port } = server.address() as AddressInfo;
  const played: GitServer = {
    url: `http://127.0.0.1:${port}/desk.git`,
    port,
    folder,
    credentials,
    refs: () => {
      const lines = git(folder, 'for-each-ref', '--format=%(refname) %(objectname)').split('\n').filter(Boolean);
      return Object.fromEntries(lines.map((line) => line.split(' ') as [string, string]));
    },
    intercept: null,
  };
  return played;
}

function credentialOf({ headers }: IncomingMessage): string | null {
  const [, encoded] = /^Basic (.*)$/.exec(headers.authorization ?? '') ?? [];
  return encoded === undefined ? null : Buffer.from(encoded, 'base64').toString();
}

/** CGI (RFC 3875), as far as git needs it. */
function serve(root: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: '/usr/bin:/bin',
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      REQUEST_METHOD: request.method ?? 'GET',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      ...(request.headers['content-length'] && { CONTENT_LENGTH: request.headers['content-length'] }),
      ...(request.headers['git-protocol'] && { GIT_PROTOCOL: String(request.headers['git-protocol']) }),
    },
  });
  request.pipe(child.stdin);
  child.stdin.on('error', () => undefined);
  const parts: Buffer[] = [];
  child.stdout.on('data', (part: Buffer) => void parts.push(part));
  child.once('close', () => {
    const answer = Buffer.concat(parts);
    const end = answer.indexOf('\r\n\r\n');
    const headers = answer
      .subarray(0, end)
      .toString()
      .split('\r\n')
      .map((line) => line.split(': ') as [string, string]);
    const status = headers.find(([name]) => name.toLowerCase() === 'status')?.[1] ?? '200';
    response.writeHead(
      Number.parseInt(status, 10),
      Object.fromEntries(headers.filter(([name]) => name.toLowerCase() !== 'status')),
    );
    response.end(answer.subarray(end + 4));
  });
}
