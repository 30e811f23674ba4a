import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { type OpenedSecret, SecretsForPrograms } from '../../src/secrets/index.js';
import { createTestSandbox } from '../support/test-sandbox.js';

const run = promisify(execFile);

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'signalbox-agent-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A key as ssh-keygen writes it. */
async function newKey(
  at: string,
  kind: readonly string[],
  passphrase = '',
): Promise<{ private_key: string; passphrase?: string }> {
  const file = join(at, `key-${kind.join('')}`);
  await run('ssh-keygen', ['-q', ...kind, '-N', passphrase, '-C', 'someone', '-f', file]);
  const private_key = await readFile(file, 'utf8');
  return passphrase === '' ? { private_key } : { private_key, passphrase };
}

function secretOf(name: string, value: { private_key: string; passphrase?: string }): OpenedSecret {
  return { shape: 'ssh', value, id: name, name, store: 'account', version: 1, status: 'ok' };
}

const noToken = async () => {
  throw new Error('an ssh key needs no token');
};

async function agentOf(at: string, secrets: readonly OpenedSecret[]) {
  const programs = new SecretsForPrograms(secrets, noToken);
  onTestFinished(() => programs.close());
  const given = await programs.give({ folder: at, uid: undefined });
  const [socket] = given.readOnly;
  if (!socket) throw new Error('there is no agent');
  return { programs, given, socket: socket.host };
}

const KINDS = [
  [['-t', 'ed25519'], ''],
  [['-t', 'ed25519'], 'a passphrase'],
  [['-t', 'rsa', '-b', '2048'], ''],
  [['-t', 'rsa', '-b', '2048', '-m', 'PEM'], ''],
  [['-t', 'ecdsa', '-b', '256'], ''],
  [['-t', 'ecdsa', '-b', '384'], ''],
  [['-t', 'ecdsa', '-b', '521'], 'another one'],
] as const;

test.each(KINDS)(
  'ssh signs with a key of ssh-keygen %j, passphrase “%s”, by the agent alone',
  async (kind, passphrase) => {
    const at = await folder();
    const { given, socket } = await agentOf(at, [secretOf('DEPLOY', await newKey(at, kind, passphrase))]);
    const env = { PATH: '/usr/bin:/bin', SSH_AUTH_SOCK: socket };
    const publicKey = given.files.find(({ inside }) => inside === given.env.DEPLOY)?.content ?? '';
    expect((await run('ssh-add', ['-L'], { env })).stdout).toBe(publicKey);
    await writeFile(join(at, 'key.pub'), publicKey);
    await writeFile(join(at, 'allowed'), `me ${publicKey}`);
    await writeFile(join(at, 'text'), 'what is signed');
    // More than once: an ECDSA signature's numbers differ in their leading bits.
    for (let round = 0; round < 8; round += 1) {
      await rm(join(at, 'text.sig'), { force: true });
      await run('ssh-keygen', ['-q', '-Y', 'sign', '-f', join(at, 'key.pub'), '-n', 'file', join(at, 'text')], { env });
      const verify = `ssh-keygen -Y verify -f ${at}/allowed -I me -n file -s ${at}/text.sig < ${at}/text`;
      expect((await run('sh', ['-c', verify])).stdout).toContain('Good "file" signature for me');
    }
  },
);

test('the agent takes no key, gives none up, and outlives whatever is sent to it', async () => {
  const at = await folder();
  const { programs, socket } = await agentOf(at, [secretOf('DEPLOY', await newKey(at, ['-t', 'ed25519']))]);
  const env = { PATH: '/usr/bin:/bin', SSH_AUTH_SOCK: socket };
  await newKey(at, ['-t', 'rsa']);
  for (const args of [['-D'], [join(at, 'key--trsa')]]) await expect(run('ssh-add', args, { env })).rejects.toThrow();
  // What locks an agent, and what asks for keys over the wire: refused like all else.
  for (const type of [22, 17, 255]) {
    const client = connect(socket);
    client.write(Buffer.from([0, 0, 0, 1, type]));
    expect((await once(client, 'data'))[0]).toEqual(Buffer.from([0, 0, 0, 1, 5]));
    client.destroy();
  }
  const hostile = [
    Buffer.from([0xff, 0xff, 0xff, 0xff, 11]),
    Buffer.from([0, 0, 0, 0]),
    Buffer.from([0, 0, 0, 2, 13, 1]),
    Buffer.alloc(1_000_000, 1),
  ];
  for (const bytes of hostile) {
    const client = connect(socket);
    client.on('error', () => undefined);
    client.end(bytes);
    client.resume();
    await new Promise((resolve) => client.once('close', resolve));
  }
  expect((await run('ssh-add', ['-L'], { env })).stdout).toMatch(/^ssh-ed25519 \S+ DEPLOY\n$/);
  expect((await stat(socket)).mode & 0o777).toBe(0o600);
  await programs.close();
  await expect(run('ssh-add', ['-L'], { env })).rejects.toThrow();
  expect((await readdir(at)).filter((name) => name.startsWith('agent-'))).toEqual([]);
});

test('a folder whose path is longer than a socket’s address may be has an agent all the same', async () => {
  const at = join(await folder(), 'a-folder-with-a-long-name'.repeat(6));
  await run('mkdir', ['-p', at]);
  const { socket } = await agentOf(at, [secretOf('DEPLOY', await newKey(at, ['-t', 'ed25519']))]);
  expect(socket.length).toBeGreaterThan(108);
  expect((await stat(socket)).isSocket()).toBe(true);
});

test('two programs of a step share one agent, with every key of the step in it', async () => {
  const at = await folder();
  const first = secretOf('ONE', await newKey(at, ['-t', 'ed25519']));
  const { programs, socket } = await agentOf(at, [first, secretOf('TWO', await newKey(at, ['-t', 'rsa']))]);
  const again = await programs.give({ folder: at, uid: undefined });
  expect(again.readOnly[0]?.host).toBe(socket);
  const { stdout } = await run('ssh-add', ['-L'], { env: { PATH: '/usr/bin:/bin', SSH_AUTH_SOCK: socket } });
  expect(stdout).toMatch(/ ONE\n.* TWO\n$/);
});

const FILE = {
  inside: '/run/secrets/CERT/client.pem',
  content: `${'one line of a certificate\n'.repeat(2_500)}the end`,
};

test('security 18: a program’s own files are in its sandbox only: for itself, whole, and on no disk of the host', async () => {
  const { bash, dataDir } = await createTestSandbox();
  const { stdout } = await bash(
    'stat -c "%a %U" /run/secrets/CERT/client.pem; cat /run/secrets/CERT/client.pem; echo x > /run/secrets/CERT/client.pem; ls /proc/self/fd',
    {
      files: [FILE, { inside: '/run/secrets/OTHER/empty.txt', content: '' }],
      onOutput: () => undefined,
    },
  );
  expect(stdout).toContain('400 nobody\none line of a certificate\n');
  expect(stdout).toContain('the end');
  expect(stdout.slice(-20)).toContain('0\n1\n2\n3\n');
  const left = (await readdir(dataDir, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  for (const { parentPath, name } of left)
    expect(await readFile(join(parentPath, name), 'latin1')).not.toContain('of a certificate');
});

test('where nothing isolates programs, their files are for this user only, found by their variables, and go with the program', async () => {
  const { bash, dataDir } = await createTestSandbox({ driver: 'none' });
  const { stdout } = await bash('stat -c %a "$CERT"; tail -c 7 "$CERT"; echo; echo "$SSH"', {
    files: [FILE],
    env: { CERT: FILE.inside, SSH: `ssh -o UserKnownHostsFile=${FILE.inside}` },
  });
  expect(stdout).toMatch(/^400\nthe end\nssh -o UserKnownHostsFile=\/(?!run\/secrets)\S+client\.pem\n$/);
  const left = await readdir(dataDir, { recursive: true });
  expect(left.filter((name) => name.includes('client.pem'))).toEqual([]);
});
