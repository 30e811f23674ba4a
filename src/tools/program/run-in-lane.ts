import type { Deps } from '../../deps.js';
import { LEFT_OUT, type ProgramResult, type RefusedHost } from '../../sandbox/index.js';
import { type ProgramSecrets, TokenRefusal } from '../../secrets/index.js';
import type { Json, JsonObject } from '../../shared/json.js';
import type { Redactor } from '../../shared/redact.js';
import { Refusal } from '../../shared/refusal.js';
import type { ToolContext } from '../contract.js';
import { WORKSPACE_INSIDE } from '../lane/open-lane.js';
import { type PreparedRuntime, prepareRuntime } from '../runtime/prepare-runtime.js';
import { prepareShown } from './shown-files.js';

export type ProgramDeps = Pick<Deps, 'config' | 'db' | 'blobs' | 'sandbox' | 'log'>;

interface LaneProgram {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | null;
  readonly readOnly: readonly { readonly host: string; readonly inside: string }[];
  readonly timeoutMs: number | null;
  /** The runtime that it needs besides its agent's. */
  readonly runtime?: JsonObject;
}

export interface LaneResult {
  readonly result: ProgramResult;
  /** What is wrong, as sentences for the model; empty when the program ended well. */
  readonly faults: readonly string[];
  readonly detail: Readonly<Record<string, Json>>;
}

/** Error messages of the C library, curl, Python and Node when there is no network. */
const NO_NETWORK =
  /could not resolve|name resolution|name or service not known|network is unreachable|getaddrinfo|EAI_AGAIN|ENETUNREACH/i;

/**
 * Runs a program of a step in its lane's folder, with the step's runtime, network and secrets; `refused` says why it
 * was not started. A program that outlives one call (a local MCP server) gets the same from prepareRuntime, networkOf,
 * and secrets.forPrograms of the context.
 */
export async function runInLane(
  deps: ProgramDeps,
  context: ToolContext,
  program: LaneProgram,
): Promise<LaneResult | { readonly refused: string }> {
  const runtime = await prepareRuntime(deps, context, program.runtime);
  if (typeof runtime === 'string') return { refused: runtime };
  try {
    return await runPrepared(deps, context, program, runtime);
  } finally {
    runtime.release();
  }
}

async function runPrepared(
  deps: ProgramDeps,
  context: ToolContext,
  program: LaneProgram,
  runtime: PreparedRuntime,
): Promise<LaneResult | { readonly refused: string }> {
  const shown = await prepareShown(deps, context);
  const given = await secretsFor(context);
  if (typeof given === 'string') return { refused: given };
  const secrets = context.secrets.hide();
  const out = context.onOutput && {
    stdout: secrets.stream(context.onOutput),
    stderr: secrets.stream(context.onOutput),
  };
  try {
    const result = await deps.sandbox.run({
      argv: program.argv,
      env: { ...runtime.env, ...program.env, ...given.env },
      files: given.files,
      stdin: program.stdin,
      workDir: context.folder.work,
      readOnly: [
        { host: shown, inside: WORKSPACE_INSIDE },
        ...runtime.readOnly,
        ...program.readOnly,
        ...given.readOnly,
      ],
      timeoutMs: program.timeoutMs,
      network: { hosts: networkOf(context) },
      owner: { runId: context.run.id, lane: context.lane },
      signal: context.signal,
      ...(out && { onOutput: (chunk, stream) => out[stream].write(chunk) }),
    });
    return describe(context, redacted(result, secrets));
  } catch (error) {
    if (error instanceof Refusal && (error.kind === 'unavailable' || error.kind === 'malformed')) {
      return { refused: error.message };
    }
    throw error;
  } finally {
    out?.stdout.end();
    out?.stderr.end();
  }
}

/** A missing token becomes a result for the model, like a program that cannot be started. */
async function secretsFor({ secrets, folder }: ToolContext): Promise<ProgramSecrets | string> {
  return secrets.forPrograms(folder.root).catch((error: unknown) => {
    if (error instanceof TokenRefusal) return error.message;
    throw error;
  });
}

function redacted(result: ProgramResult, secrets: Redactor): ProgramResult {
  return { ...result, stdout: secrets.cut(result.stdout, LEFT_OUT), stderr: secrets.cut(result.stderr, LEFT_OUT) };
}

function describe(context: ToolContext, result: ProgramResult): LaneResult {
  const { exitCode, killed, why, durationMs } = result;
  const faults: string[] = [];
  if (killed === null && exitCode === null) faults.push('it was ended by a signal');
  else if (killed === null && exitCode !== 0) faults.push(`exit status ${exitCode}`);
  if (why !== null) faults.push(why);
  const network = faults.length === 0 ? [] : networkFaults(networkOf(context), result);
  const refused = result.network?.refused ?? [];
  const denied = { ...(network.length > 0 && refused.length === 0 && { network: 'none' }), ...refusedDetail(refused) };
  return { result, faults: [...faults, ...network], detail: { exitCode, killed, why, durationMs, ...denied } };
}

/** How the network may explain the failure of a program. */
function networkFaults(hosts: readonly string[], { network, stderr, stdout }: ProgramResult): string[] {
  if (network !== null && network.refused.length > 0) return network.refused.map(({ why }) => why);
  if (!NO_NETWORK.test(stderr + stdout)) return [];
  if (hosts.length === 0) return ['programs have no network here: list the hosts that they may reach under "network:"'];
  return [
    `programs reach ${hosts.join(', ')} by the proxy of HTTP_PROXY and HTTPS_PROXY alone: names are resolved there, and not in the program`,
  ];
}

/** For the trace: the refused hosts, also of a program that succeeded. */
function refusedDetail(refused: readonly RefusedHost[]): Readonly<Record<string, Json>> {
  return refused.length === 0 ? {} : { refused: refused.map(({ host, why }) => ({ host, why })) };
}

/**
 * The hosts that a step's programs may reach: those of the agent's file and of AGENTS.md together. None in an eval that
 * is not live.
 */
export function networkOf({
  agent,
  plan,
  run,
  cannedResults,
}: Pick<ToolContext, 'agent' | 'plan' | 'run' | 'cannedResults'>): readonly string[] {
  if (run.mode === 'eval' && !cannedResults?.live) return [];
  return [...new Set([...plan.workspace.network, ...agent.network])];
}
