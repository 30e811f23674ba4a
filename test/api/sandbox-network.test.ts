import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createNet } from '../../src/platform/net/index.js';
import { createTestSandbox, type TestSandboxOptions } from '../support/test-sandbox.js';

const NAMES: Readonly<Record<string, string>> = {
  'good.test': '127.0.0.1',
  'deep.good.test': '127.0.0.1',
  'shut.test': '127.0.0.1',
  'metadata.test': '169.254.169.254',
};

/** A server of this host, and a sandbox whose proxy may go to good.test and what is below it, as the operator opened them. */
async function networked(options: TestSandboxOptions = {}) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.host}`);
    if (request.url === '/endless') return stream(response);
    void body(request).then((text) =>
      response.end(`got ${text || 'nothing'}, ${request.headers.secret ?? 'no secret'}\n`),
    );
  });
  const port = await listen(server);
  const open = ['good.test', 'deep.good.test'].map((host) => ({ host, port: null }));
  const net = createNet({
    config: { allowHosts: open, version: '1' },
    resolve: async (name) => (NAMES[name] ? [{ address: NAMES[name], family: 4 }] : []),
  });
  const { bash, ...rest } = await createTestSandbox({ net, ...options });
  const run = (command: string, hosts = [`good.test:${port}`, `*.good.test:${port}`]) =>
    bash(command, { network: { hosts } });
  return { port, asked, run, ...rest };
}

function stream(response: NodeJS.WritableStream): void {
  const chunk = Buffer.alloc(65_536);
  const more = () => {
    while (response.write(chunk));
    response.once('drain', more);
  };
  more();
}

async function body(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

function listen(server: Server): Promise<number> {
  onTestFinished(() => void server.close());
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)));
}

test('security 22: a program reaches the hosts of its list, by plain requests and by tunnels, and no other', async () => {
  const { port, asked, run } = await networked();
  const plain = await run(
    `curl -sS -d hello -H 'Secret: s' http://good.test:${port}/a; curl -sS http://deep.good.test:${port}/b`,
  );
  expect(plain).toMatchObject({ exitCode: 0, stdout: 'got hello, s\ngot nothing, no secret\n', stderr: '' });
  const tunnel = await run(`curl -sS -p http://good.test:${port}/c`);
  expect(tunnel).toMatchObject({ exitCode: 0, stdout: 'got nothing, no secret\n' });
  expect(asked).toEqual([`POST /a good.test:${port}`, `GET /b deep.good.test:${port}`, `GET /c good.test:${port}`]);
  expect(plain.network).toMatchObject({ refused: [] });

  const other = await run(
    `curl -sS http://shut.test:${port}/; curl -sS -p http://good.test:1/; curl -sS http://sub.xgood.test:${port}/`,
  );
  expect(other.stdout).toContain(`shut.test:${port} is not in "network:"`);
  expect(other.stderr).toContain('403');
  expect(other.network?.refused.map(({ host }) => host)).toEqual([
    `shut.test:${port}`,
    'good.test:1',
    `sub.xgood.test:${port}`,
  ]);
  expect(asked).toHaveLength(3);
});

test('security 22: an empty list is no network at all, and past the proxy there is none either', async () => {
  const { port, run, asked } = await networked();
  const none = await run(
    `curl -sS -m 3 http://good.test:${port}/; ls /run; echo "$HTTP_PROXY"; ip addr 2>/dev/null | grep -c UP`,
    [],
  );
  expect(none.stdout.split('\n')[0]).toBe('');
  expect(none.network).toBeNull();
  const past = await run(
    `curl -sS --noproxy '*' -m 3 http://127.0.0.1:${port}/; curl -sS --noproxy '*' -m 3 http://good.test:${port}/; cat /proc/net/dev | tail -n +3 | cut -d: -f1`,
  );
  expect(past.stdout.trim()).toBe('lo');
  expect(asked).toEqual([]);
});

test('security 21: what the list opens is checked at the connection: private addresses need the operator, metadata stays shut', async () => {
  const { port, run, asked } = await networked();
  const list = [`shut.test:${port}`, 'metadata.test:80', `127.0.0.1:${port}`, 'unknown.test'];
  const spelled = [
    `http://shut.test:${port}/`,
    'http://metadata.test/',
    `http://0x7f.1:${port}/`,
    `http://2130706433:${port}/`,
  ];
  const { stdout, network } = await run(
    `for url in ${spelled.join(' ')} http://unknown.test/ http://[::ffff:127.0.0.1]:${port}/; do curl -sS --noproxy "" "$url"; done`,
    list,
  );
  for (const name of ['shut.test', 'metadata.test', 'unknown.test'])
    expect(stdout).toContain(`${name} has no public address`);
  expect(stdout).toContain('127.0.0.1 is a private address');
  expect(network?.refused).toHaveLength(5);
  expect(asked).toEqual([]);
});

test('security 22: what is no proxy request is answered or cut, and the proxy lives on', async () => {
  const { port, run, asked } = await networked();
  const hostile = [
    'GET / HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n',
    'CONNECT good.test/../x:443 HTTP/1.1\\r\\n\\r\\n',
    'CONNECT user@good.test:443 HTTP/1.1\\r\\n\\r\\n',
    'GET http://u:p@good.test/ HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n',
    'GET https://good.test/ HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n',
    '\\x16\\x03\\x01\\x02\\x00',
    `GET http://good.test:${port}/x HTTP/1.1\\r\\nHost: good.test\\r\\nX: \${LONG}\\r\\n\\r\\n`,
  ];
  const say = hostile.map(
    (text) => `exec 9<>/dev/tcp/127.0.0.1/3128; printf "${text}" >&9; timeout 2 head -1 <&9; exec 9<&-;`,
  );
  const { stdout } = await run(
    `LONG=$(head -c 20000 /dev/zero | tr '\\0' a); ${say.join('\n')} curl -sS http://good.test:${port}/after`,
  );
  expect(stdout.trim().split('\n').at(-1)).toBe('got nothing, no secret');
  expect(stdout).not.toContain(' 200 Connection');
  expect(asked).toEqual([`GET /after good.test:${port}`]);
});

test('security 22: bytes and connections have a limit, and what is over it is told', async () => {
  const { port, run } = await networked({ limits: { transfer: 1_000_000, connections: 2 } });
  const { stdout, stderr } = await run(
    `curl -sS -o /dev/null http://good.test:${port}/endless; curl -sS http://good.test:${port}/`,
  );
  expect(stderr).toContain('curl');
  expect(stdout).toContain('used up the 1000000 bytes');
  const many = await run(
    `python3 -c "
import socket, time
held = [socket.create_connection(('127.0.0.1', 3128)) for _ in range(6)]
time.sleep(0.3)
alive = 0
for s in held:
    s.settimeout(0.3)
    try: alive += s.recv(1) != b''
    except TimeoutError: alive += 1
    except OSError: pass
print(alive)"`,
  );
  expect(many.stdout).toBe('2\n');
});

test('security 22: the network ends with its program, and so does what its connections hold on the other side', async () => {
  const { run, sandbox, runId, dataDir } = await networked();
  const closed = new Promise<void>((resolve) => {
    const held = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('close', () => resolve());
      void sandbox.kill(runId);
    });
    void listen(held).then((port) =>
      run(
        `python3 -c "
import socket, time
s = socket.create_connection(('127.0.0.1', 3128))
s.sendall(b'CONNECT good.test:${port} HTTP/1.1\\r\\n\\r\\n')
time.sleep(60)"`,
        [`good.test:${port}`],
      ),
    );
  });
  await closed;
  const { readdir } = await import('node:fs/promises');
  await expect.poll(() => readdir(`${dataDir}/sandbox/net`)).toEqual([]);
});

test('security 22: with a network a program has no descriptor, no variable and no right more', async () => {
  const { run } = await networked();
  const { stdout } = await run(
    'ls /proc/self/fd; grep -E "CapEff|NoNewPrivs|Seccomp:" /proc/self/status; unshare -rn true 2>&1; test -w /run/network.sock; env | grep -ci proxy',
  );
  expect(stdout).toMatch(/^0\n1\n2\n3\nCapEff:\t0{16}\nNoNewPrivs:\t1\nSeccomp:\t2\n/);
  expect(stdout).toMatch(/unshare failed|not permitted|No space/);
});
