import { type AgentPlan, leavesOf, type Plan, type StepPlan } from '../../format/model.js';
import {
  CannotOpen,
  hiddenTexts,
  liveToken,
  type OpenedSecret,
  openEach,
  placeholderText,
  SecretsForPrograms,
} from '../../secrets/index.js';
import type { StepSecrets } from '../../tools/contract.js';
import { StepFailure } from '../errors.js';
import type { Lane } from '../lane/lane.js';

interface OpenStepSecrets extends StepSecrets {
  /** The secrets that the step may use. */
  readonly opened: readonly OpenedSecret[];
  close(): Promise<void>;
}

/** The parts of a lane that determine which vaults are in reach, and which other secrets the run may name. */
type SecretsPlace = Pick<Lane, 'deps' | 'plan' | 'mask'> & {
  readonly run: Pick<Lane['run'], 'tenantId' | 'workspaceId'>;
};

/**
 * Opens the secrets that the step, its agent or the flow names; fails the step when no vault in reach has one. The
 * run's other secrets are opened too, only to mask them: programs of its steps share the folder.
 */
export async function openStepSecrets(lane: SecretsPlace, step: StepPlan, agent: AgentPlan): Promise<OpenStepSecrets> {
  const names = new Set([...agent.secrets, ...step.secrets, ...lane.plan.secrets]);
  const found = await openAll(lane, names);
  const opened = [...found.values()].filter(({ name }) => names.has(name));
  const missing = [...names].filter((name) => !found.has(name));
  if (missing.length > 0) throw new StepFailure(sentenceOf(missing));
  const tokenOf = (secret: OpenedSecret) => tokenFor(lane, secret);
  const programs = new SecretsForPrograms(opened, tokenOf);
  return {
    opened,
    hide: () => lane.mask.redactor,
    value: async (name) => {
      const secret = opened.find((one) => one.name === name);
      return secret === undefined ? null : placeholderText(secret, tokenOf);
    },
    forPrograms: (folder) => programs.give({ folder, uid: lane.deps.sandbox.uid }),
    close: () => programs.close(),
  };
}

/** Opens all secrets that the run may name, in one query, and masks them. Those of the step itself must be readable. */
async function openAll(lane: SecretsPlace, own: ReadonlySet<string>): Promise<ReadonlyMap<string, OpenedSecret>> {
  const { deps, run, plan } = lane;
  const names = [...new Set([...own, ...namesOf(plan)])];
  const found = new Map<string, OpenedSecret>();
  for (const [name, secret] of await openEach(deps.db, deps.keys, {
    tenant: run.tenantId,
    workspace: run.workspaceId,
    names,
  })) {
    // A secret that cannot be opened cannot have leaked.
    if (!(secret instanceof CannotOpen)) found.set(name, secret);
    else if (own.has(name)) throw new StepFailure(secret.message);
  }
  for (const [name, secret] of found) lane.mask.add(name, hiddenTexts(secret));
  return found;
}

function namesOf(plan: Plan): ReadonlySet<string> {
  const agents = Object.values(plan.agents).flatMap(({ secrets }) => secrets);
  return new Set([...plan.secrets, ...agents, ...leavesOf(plan).flatMap(({ secrets }) => secrets)]);
}

function sentenceOf(missing: readonly string[]): string {
  const [first = ''] = missing;
  const what = missing.length === 1 ? `the secret ${first} is` : `the secrets ${missing.join(', ')} are`;
  return `${what} in no vault in reach: store it in this workspace's vault or in the account's with PUT /api/secrets { "name": "${first}", … }`;
}

/** Records once an attempt which secret came from which vault. */
export function recordSecrets(
  lane: Lane,
  at: { readonly id: string; readonly item: number; readonly round: number },
  { opened }: OpenStepSecrets,
): void {
  for (const { name, store } of opened) {
    lane.writer.event('secret.resolved', { step: at.id, item: at.item, round: at.round, name, store });
  }
}

/** The secrets in the prompt: names and descriptions, since programs have to name them. */
export function secretsNote({ opened }: OpenStepSecrets): string {
  if (opened.length === 0) return '';
  const lines = opened.map(({ name, shape }) => `- ${name}: ${MEANINGS[shape]}`);
  return `Programs that you run find these secrets in environment variables. You never see their values, and need not:\n${lines.join('\n')}`;
}

const MEANINGS = {
  value: 'the value',
  file: 'the path of a file',
  oauth2: 'an access token',
  service_account: 'an access token',
  ssh: 'the path of a public key; the private one is in the ssh agent that git and ssh use',
  api: 'the key',
} as const satisfies Record<OpenedSecret['shape'], string>;

/** The live access token of a secret that is exchanged for one. It is masked before it is returned. */
async function tokenFor({ deps, mask }: Pick<Lane, 'deps' | 'mask'>, secret: OpenedSecret): Promise<string> {
  const { token } = await liveToken(deps, secret);
  mask.add(secret.name, [token]);
  return token;
}
