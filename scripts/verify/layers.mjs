import { importsOf, resolveImport } from './imports.mjs';
import { EXCEPT, OPEN, ROOT_FILES, TIERS } from './layer-table.mjs';

/** @typedef {import('./tracked.mjs').Files} Files */

/** The tier of each part, by its line in the table. */
const TIER_OF = new Map(TIERS.flatMap((parts, tier) => parts.map((part) => /** @type {const} */ ([part, tier]))));

/** Reads `env` off process without saying `process.env`, which is all that the linter sees. */
const HIDDEN_ENV = /\{[^}]*\benv\b[^}]*\}\s*(=\s*process\b|from\s*['"](node:)?process['"])|\bprocess\[/;

/** Imports that cross the layer table, and reads of the environment that hide. @param {Files} files @returns {string[]} */
export function checkLayers(files) {
  const sources = [...files].filter(([path]) => /^src\/.*\.tsx?$/.test(path));
  return sources.flatMap(([path, text]) => [
    ...layerFaults(path, text),
    ...(HIDDEN_ENV.test(text) && !path.startsWith('src/platform/config/')
      ? [`${path}: only src/platform/config reads the environment: add a field to Config.`]
      : []),
    ...(path.startsWith('src/workflows/') ? nodeFaults(path, files) : []),
  ]);
}

/** @param {string} path @param {string} text @returns {string[]} */
function layerFaults(path, text) {
  const own = partOf(path);
  if (ROOT_FILES.has(own)) return own === 'deps.ts' ? typesOnlyFaults(path, text) : [];
  if (!TIER_OF.has(own))
    return [`${path}: src/${own} is not in the layer table (scripts/verify/layer-table.mjs): give it its tier.`];
  return importsOf(text).flatMap(({ specifier, line }) => {
    const target = resolveImport(path, specifier);
    if (target === null || target === 'src/deps.ts') return [];
    const fault = target.startsWith('src/') ? faultOf(own, target) : 'it leads out of src';
    return fault === null ? [] : [`${path}:${line}: src/${own} may not import ${specifier}: ${fault}.`];
  });
}

/** Why a part may not import a file of src; null when it may. @param {string} own @param {string} target @returns {string | null} */
function faultOf(own, target) {
  const part = partOf(target);
  if (part === own) return null;
  if ((TIER_OF.get(part) ?? Number.POSITIVE_INFINITY) >= (TIER_OF.get(own) ?? 0))
    return `src/${part} is not in a lower tier: take what you need as an argument, or move it down`;
  if (EXCEPT[own]?.not.includes(part)) return EXCEPT[own].instead;
  const isDoor = target === `src/${part}/index.ts` || target === `src/${part}/contract.ts`;
  return OPEN.has(part) || isDoor ? null : `use the door of src/${part}: its index.ts or contract.ts`;
}

/** @param {string} path @param {string} text */
function typesOnlyFaults(path, text) {
  const values = importsOf(text).filter((each) => !each.typeOnly);
  return values.map(
    ({ specifier, line }) => `${path}:${line}: imports ${specifier}: deps.ts names types, use \`import type\`.`,
  );
}

/** A workflow's bundle has no Node: not in its own files, and in nothing that they load. @param {string} start @param {Files} files */
function nodeFaults(start, files) {
  /** @type {string[]} */
  const faults = [];
  const seen = new Set([start]);
  const queue = [{ path: start, chain: start }];
  for (const { path, chain } of queue) {
    for (const { specifier, typeOnly } of importsOf(files.get(path) ?? '')) {
      if (typeOnly) continue;
      if (specifier.startsWith('node:'))
        faults.push(`${chain} -> ${specifier}: workflows run without Node: do it in an activity.`);
      const target = resolveImport(path, specifier);
      if (target === null || seen.has(target)) continue;
      seen.add(target);
      queue.push({ path: target, chain: `${chain} -> ${target}` });
    }
  }
  return faults;
}

/**
 * The part of src that a file is in: its folder, or the folder in that which the table lists; a file of src itself answers
 * its name. @param {string} path
 */
function partOf(path) {
  const [, room = '', inner = ''] = path.split('/');
  return TIER_OF.has(`${room}/${inner}`) ? `${room}/${inner}` : room;
}
