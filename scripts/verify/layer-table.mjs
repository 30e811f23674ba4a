/** A door of a folder is what others may import of it. */
const doors = (/** @type {string} */ folder) => [`${folder}/index.ts`, `${folder}/contract.ts`];
const whole = (/** @type {string} */ folder) => `${folder}/`;

const INFRASTRUCTURE = [
  'platform/db',
  'git',
  'platform/storage',
  'platform/temporal',
  'models',
  'platform/net',
  'sandbox',
];
const SERVICES = [
  'people/accounts',
  'content/workspaces',
  'content/deploys',
  'content/library',
  'content/previews',
  'runs',
  'triggers/schedules',
  'content/documents',
  'evals',
  'secrets',
  'secrets/oauth',
  'engine',
  'tools',
  'observe',
  'people/team',
  'people/keys',
  'people/avatars',
  'notify/mail',
  'notify',
  'triggers',
  'remotes/code-host',
  'remotes/repo',
  'remotes',
];

const floor = [whole('shared'), 'deps.ts'];
const serviceDoors = SERVICES.flatMap(doors);
const infrastructureDoors = INFRASTRUCTURE.flatMap(doors);

/** @type {{ allowed: string[], instead: string }} */
const infrastructure = {
  allowed: [...floor, 'platform/config/index.ts', 'workflows/contract.ts', ...infrastructureDoors],
  instead: 'infrastructure knows no service: take what you need as an argument',
};
/** @type {{ allowed: string[], instead: string }} */
const service = {
  allowed: [
    ...floor,
    ...['contract', 'format'].map(whole),
    'platform/config/index.ts',
    'workflows/contract.ts',
    ...infrastructureDoors,
    ...serviceDoors,
  ],
  instead: 'a service uses another one through its index.ts, and infrastructure through its contract.ts (deps.*)',
};
/** @type {{ allowed: string[], instead: string }} */
const page = {
  allowed: ['client', 'contract', 'shared', 'format'].map(whole),
  instead: 'it speaks to the service over HTTP only: use src/client',
};

/**
 * Who may import whom: the table of ARCHITECTURE.md. A path that ends in `/` is a whole folder. A folder may always
 * import itself; packages are the linter's business (biome.json).
 * @type {Record<string, { allowed: string[], instead: string }>}
 */
export const LAYERS = {
  shared: { allowed: [], instead: 'the floor imports nothing of ours: move what you need into src/shared' },
  'platform/config': { allowed: [whole('shared')], instead: 'config only reads the environment' },
  contract: { allowed: [whole('shared')], instead: 'the wire knows nothing of what is behind it' },
  format: { allowed: [whole('shared')], instead: 'the format is pure: take what you need as an argument' },
  workflows: { allowed: [whole('shared')], instead: 'a workflow is deterministic: do it in an activity' },
  ...Object.fromEntries(INFRASTRUCTURE.map((name) => [name, infrastructure])),
  ...Object.fromEntries(SERVICES.map((name) => [name, service])),
  activities: {
    allowed: [...floor, 'workflows/contract.ts', ...serviceDoors],
    instead: 'an activity only calls a verb of a service',
  },
  api: {
    allowed: [...floor, 'platform/config/index.ts', whole('contract'), ...serviceDoors, ...doors('git')],
    instead: 'a route only calls a verb of a service',
  },
  client: { allowed: ['contract', 'shared'].map(whole), instead: 'the client knows the wire only' },
  cli: page,
  dashboard: page,
  'platform/embedded': {
    allowed: [...floor, 'platform/config/index.ts', ...doors('platform/db'), ...doors('platform/temporal')],
    instead: 'the one-machine default starts Postgres and Temporal, and knows no more',
  },
};

/** Files of src itself. `main.ts`, `start-roles.ts`, `doctor.ts` and `rotate-keys.ts` construct, so they may import anything; `deps.ts` names types. */
export const ROOT_FILES = new Set(['main.ts', 'start-roles.ts', 'doctor.ts', 'rotate-keys.ts', 'deps.ts']);
