import {
  CannotOpen,
  hiddenTexts,
  type OpenedSecret,
  openSecrets,
  placeholderText,
  SecretsForPrograms,
} from '../../secrets/index.js';
import type { StepSecrets } from '../../tools/contract.js';
import type { AgentPlan, Plan, StepPlan } from '../../workspace/model.js';
import { StepFailure } from '../errors.js';
import type { Lane } from '../lane/lane.js';
import { leavesOf } from '../lane/lane-plan.js';
import { tokenFor } from './token-for.js';

export interface OpenStepSecrets extends StepSecrets {
  /** Those that the step may use. */
  readonly opened: readonly OpenedSecret[];
  close(): Promise<void>;
}

/**
 * Opens the secrets that the step, its agent or the flow names; fails the step when no vault in reach holds one. What
 * other steps of the run name is opened too, only to be kept out of what is said: their programs share the folder.
 */
export async function openStepSecrets(lane: Lane, step: StepPlan, agent: AgentPlan): Promise<OpenStepSecrets> {
  const names = new Set([...agent.secrets, ...step.secrets, ...lane.plan.secrets]);
  const found = await openNamed(lane, [...names]).catch((error: unknown) => {
    throw error instanceof CannotOpen ? new StepFailure(error.message) : error;
  });
  await hideOthers(lane, names);
  const missing = [...names].filter((name) => !found.has(name));
  if (missing.length > 0) throw new StepFailure(sentenceOf(missing));
  const opened = [...found.values()];
  const tokenOf = (secret: OpenedSecret) => tokenFor(lane, secret);
  const programs = new SecretsForPrograms(opened, tokenOf);
  return {
    opened,
    hide: () => lane.hidden.redactor,
    value: async (name) => {
      const secret = found.get(name);
      return secret === undefined ? null : placeholderText(secret, tokenOf);
    },
    forPrograms: (folder) => programs.give({ folder, uid: lane.deps.sandbox.uid }),
    close: () => programs.close(),
  };
}

async function openNamed(lane: Lane, names: readonly string[]): Promise<ReadonlyMap<string, OpenedSecret>> {
  const { deps, run } = lane;
  const found = await openSecrets(deps.db, deps.keys, { tenant: run.tenantId, workspace: run.workspaceId, names });
  for (const secret of found.values()) lane.hidden.add(secret.name, hiddenTexts(secret));
  return found;
}

/** One that cannot be opened can have been given to nobody. */
async function hideOthers(lane: Lane, own: ReadonlySet<string>): Promise<void> {
  for (const name of namesOf(lane.plan)) {
    if (own.has(name)) continue;
    await openNamed(lane, [name]).catch((error: unknown) => {
      if (!(error instanceof CannotOpen)) throw error;
    });
  }
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

/** Told once an attempt: which secret came from which vault. */
export function tellSecrets(
  lane: Lane,
  at: { readonly id: string; readonly item: number; readonly round: number },
  { opened }: OpenStepSecrets,
): void {
  for (const { name, store } of opened) {
    lane.writer.event('secret.resolved', { step: at.id, item: at.item, round: at.round, name, store });
  }
}

/** What a model is told: names and what they stand for, since programs have to name them. */
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
