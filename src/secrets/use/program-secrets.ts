import type { OpenedSecret, Shape, ShapeValues } from '../model.js';
import { type AgentKey, agentKey, type RunningAgent, startSshAgent } from './ssh-agent.js';

/** What a program is given for the secrets it may use: variables, files that exist only inside, and sockets to show. */
export interface ProgramSecrets {
  readonly env: Readonly<Record<string, string>>;
  readonly files: readonly { readonly inside: string; readonly content: string }[];
  readonly readOnly: readonly { readonly host: string; readonly inside: string }[];
}

/** The folder for files and sockets of secrets, inside the sandbox. */
const FOLDER = '/run/secrets';
const SOCKET = `${FOLDER}/ssh-agent`;
const KNOWN_HOSTS = `${FOLDER}/known_hosts`;

/** The part of one secret. `key` goes into the ssh agent instead of the program. */
interface Part {
  readonly variable: string;
  readonly files?: ProgramSecrets['files'];
  readonly key?: AgentKey;
  readonly knownHosts?: string;
}

type Give<S extends Shape> = (given: {
  readonly name: string;
  readonly value: ShapeValues[S];
  /** The live access token, for the two shapes that are exchanged for one. */
  readonly token: () => Promise<string>;
}) => Promise<Part>;

const live: Give<'oauth2' | 'service_account'> = async ({ token }) => ({ variable: await token() });

const GIVE = {
  value: async ({ value }) => ({ variable: value }),
  api: async ({ value }) => ({ variable: value.key }),
  file: async ({ name, value }) => {
    const inside = `${FOLDER}/${name}/${value.filename}`;
    return { variable: inside, files: [{ inside, content: value.content }] };
  },
  oauth2: live,
  service_account: live,
  ssh: async ({ name, value }) => {
    const key = await agentKey(name, value);
    const inside = `${FOLDER}/${name}/key.pub`;
    const type = key.blob.subarray(4, 4 + key.blob.readUInt32BE(0)).toString('latin1');
    const content = `${type} ${key.blob.toString('base64')} ${name}\n`;
    return { variable: inside, files: [{ inside, content }], key, knownHosts: value.known_hosts ?? '' };
  },
} as const satisfies { readonly [S in Shape]: Give<S> };

export type TokenOf = (secret: OpenedSecret) => Promise<string>;

export interface AgentPlace {
  /** A folder on the host in which the agent's socket may be made. */
  readonly folder: string;
  /** The user that programs run as, if it is not the worker's own. */
  readonly uid: number | undefined;
}

/**
 * The secrets of one step as its programs get them: `${NAME}` is a variable NAME that holds the value, the key, a live
 * token, or the path of a file; an ssh key is in an agent, and its public half is the file. The agent lives until `close`.
 */
export class SecretsForPrograms {
  #agent: Promise<RunningAgent> | undefined;

  constructor(
    private readonly secrets: readonly OpenedSecret[],
    private readonly tokenOf: TokenOf,
  ) {}

  async give(place: AgentPlace): Promise<ProgramSecrets> {
    const parts = await Promise.all(
      this.secrets.map(async (secret) => ({ name: secret.name, ...(await this.#partOf(secret)) })),
    );
    const env = Object.fromEntries(parts.map(({ name, variable }) => [name, variable]));
    const files = parts.flatMap((part) => part.files ?? []);
    const keys = parts.flatMap(({ key }) => key ?? []);
    if (keys.length === 0) return { env, files, readOnly: [] };
    this.#agent ??= startSshAgent(keys, place.folder, place.uid);
    const { socket } = await this.#agent;
    const knownHosts = parts.map((part) => part.knownHosts ?? '').join('\n');
    return {
      env: { ...env, SSH_AUTH_SOCK: SOCKET, GIT_SSH_COMMAND: SSH },
      files: [...files, { inside: KNOWN_HOSTS, content: `${knownHosts}\n` }],
      readOnly: [{ host: socket, inside: SOCKET }],
    };
  }

  async close(): Promise<void> {
    const agent = this.#agent;
    this.#agent = undefined;
    await agent?.then((running) => running.close()).catch(() => undefined);
  }

  #partOf(secret: OpenedSecret): Promise<Part> {
    const give = GIVE[secret.shape] as Give<Shape>;
    return give({ name: secret.name, value: secret.value, token: () => this.tokenOf(secret) });
  }
}

/**
 * Hosts that the secret's `known_hosts` does not name are refused: each sandbox is new, so trust on first use would
 * trust any host.
 */
const SSH = `ssh -F none -o BatchMode=yes -o StrictHostKeyChecking=yes -o UserKnownHostsFile=${KNOWN_HOSTS} -o GlobalKnownHostsFile=none`;
