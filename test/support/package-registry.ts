import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';

export const REGISTRY_USER = 'reader-of-packages';
export const REGISTRY_PASSWORD = 'password-of-the-registry';
export const REGISTRY_TOKEN = 'token-of-the-registry';
const HOST = 'packages.test';

const WHEEL = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as z:
    z.writestr("greet.py", "def hello(): return 'hello from a wheel'\\n")
    z.writestr("greet-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: greet\\nVersion: 1.0\\n")
    z.writestr("greet-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    z.writestr("greet-1.0.dist-info/entry_points.txt", "[console_scripts]\\ngreet=greet:hello\\n")
    z.writestr("greet-1.0.dist-info/RECORD", "")
`;

/**
 * A registry of both kinds on this host, which pip and npm of this machine are set up with while the test lasts, with
 * credentials, and that answers nothing until `before` is done: `greet` is a wheel, and a package whose install script would leave a mark; `sourced` has no wheel.
 */
export async function startRegistry(before: () => Promise<void> = async () => undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'registry-'));
  const files = makePackages(folder);
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    await before();
    asked.push(request.url ?? '');
    const { authorization = '' } = request.headers;
    const basic = `Basic ${Buffer.from(`${REGISTRY_USER}:${REGISTRY_PASSWORD}`).toString('base64')}`;
    if (authorization !== basic && authorization !== `Bearer ${REGISTRY_TOKEN}`) return response.writeHead(401).end();
    const answer = answers(files, server.address() as AddressInfo)[request.url ?? ''];
    if (answer === undefined) return response.writeHead(404).end();
    const type = typeof answer === 'string' && answer.startsWith('<') ? 'text/html' : 'application/json';
    return response
      .writeHead(200, { 'content-type': Buffer.isBuffer(answer) ? 'application/octet-stream' : type })
      .end(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const npmrc = join(folder, 'npmrc');
  writeFileSync(npmrc, `registry=http://${HOST}:${port}/npm/\n//${HOST}:${port}/npm/:_authToken=\${SECRET_OF_NPM}\n`);
  vi.stubEnv('SECRET_OF_NPM', REGISTRY_TOKEN);
  vi.stubEnv('npm_config_userconfig', npmrc);
  vi.stubEnv('npm_config_registry', `http://${HOST}:${port}/npm/`);
  vi.stubEnv('PIP_INDEX_URL', `http://${REGISTRY_USER}:${REGISTRY_PASSWORD}@${HOST}:${port}/simple`);
  vi.stubEnv('PIP_TRUSTED_HOST', HOST);
  vi.stubEnv('PIP_FIND_LINKS', '');
  onTestFinished(() => {
    vi.unstubAllEnvs();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { asked, port, resolve: async () => [{ address: '127.0.0.1', family: 4 }] };
}

function makePackages(folder: string) {
  const wheel = join(folder, 'greet-1.0-py3-none-any.whl');
  execFileSync('python3', ['-c', WHEEL, wheel]);
  const source = join(folder, 'package');
  mkdirSync(source);
  const scripts = { install: 'touch /runtime/ran-a-script' };
  writeFileSync(
    join(source, 'package.json'),
    JSON.stringify({ name: 'greet', version: '1.0.0', main: 'i.js', scripts }),
  );
  writeFileSync(join(source, 'i.js'), "module.exports = () => 'hello from npm'\n");
  const tarball = join(folder, 'greet.tgz');
  execFileSync('tar', ['-czf', tarball, '-C', folder, 'package']);
  return { wheel: readFileSync(wheel), tarball: readFileSync(tarball) };
}

function answers(
  { wheel, tarball }: ReturnType<typeof makePackages>,
  { port }: AddressInfo,
): Record<string, string | Buffer> {
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const dist = { tarball: `http://${HOST}:${port}/npm/greet.tgz`, integrity };
  return {
    '/simple/greet/': '<a href="/files/greet-1.0-py3-none-any.whl">greet-1.0-py3-none-any.whl</a>',
    '/simple/sourced/': '<a href="/files/sourced-1.0.tar.gz">sourced-1.0.tar.gz</a>',
    '/files/greet-1.0-py3-none-any.whl': wheel,
    '/npm/greet': JSON.stringify({
      name: 'greet',
      'dist-tags': { latest: '1.0.0' },
      versions: {
        '1.0.0': { name: 'greet', version: '1.0.0', scripts: { install: 'x' }, hasInstallScript: true, dist },
      },
    }),
    '/npm/greet.tgz': tarball,
  };
}
