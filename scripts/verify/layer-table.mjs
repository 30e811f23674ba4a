/**
 * Which part of src may import which: the table of ARCHITECTURE.md. A part is a folder of src, or a folder in that which
 * is listed here. It imports parts of the tiers above its own line, and none of its own tier or below. Packages are the
 * linter's business (biome.json).
 * @type {readonly (readonly string[])[]}
 */
export const TIERS = [
  ['shared'],
  ['contract', 'format', 'workflows'],
  ['platform/config'],
  ['platform/db', 'platform/net', 'platform/temporal'],
  ['platform/embedded', 'platform/storage', 'git', 'models', 'sandbox'],
  ['people'],
  ['secrets'],
  ['content'],
  ['tools'],
  ['engine'],
  ['runs'],
  ['evals', 'notify', 'triggers'],
  ['remotes'],
  ['observe'],
  ['activities'],
  ['api'],
];

/** Pure parts, of which any file may be imported. Others are imported through their door: `index.ts` or `contract.ts`. */
export const OPEN = new Set(['shared', 'contract', 'format']);

/** Parts that the tiers would allow, but that another part has no business with. @type {Readonly<Record<string, { not: readonly string[], instead: string }>>} */
export const EXCEPT = {
  activities: {
    not: [
      'contract',
      'format',
      'git',
      'models',
      'sandbox',
      'platform/config',
      'platform/db',
      'platform/net',
      'platform/storage',
      'platform/temporal',
      'platform/embedded',
    ],
    instead: 'an activity only calls a verb of a service',
  },
  api: {
    not: [
      'format',
      'workflows',
      'activities',
      'models',
      'sandbox',
      'platform/db',
      'platform/net',
      'platform/storage',
      'platform/temporal',
      'platform/embedded',
    ],
    instead: 'a route only calls a verb of a service',
  },
};

/** Files of src itself. `main.ts`, `doctor.ts` and `rotate-keys.ts` construct, so they may import anything; `deps.ts` names types. */
export const ROOT_FILES = new Set(['main.ts', 'start-roles.ts', 'doctor.ts', 'rotate-keys.ts', 'deps.ts']);
