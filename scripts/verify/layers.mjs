import { importsOf, resolveImport } from './imports.mjs';
import { LAYERS, ROOT_FILES } from './layer-table.mjs';

/** @typedef {import('./tracked.mjs').Files} Files */

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
  const own = folderOf(path);
  if (ROOT_FILES.has(own)) return own === 'deps.ts' ? typesOnlyFaults(path, text) : [];
  const layer = LAYERS[own];
  if (!layer)
    return [`${path}: src/${own} is not in the layer table (scripts/verify/layer-table.mjs): give it its row.`];
  return importsOf(text).flatMap(({ specifier, line }) => {
    const resolved = resolveImport(path, specifier);
    if (resolved === null || resolved.startsWith(`src/${own}/`)) return [];
    if (!resolved.startsWith('src/')) return [`${path}:${line}: ${specifier} leads out of src.`];
    const target = resolved.slice('src/'.length);
    if (layer.allowed.some((entry) => (entry.endsWith('/') ? target.startsWith(entry) : target === entry))) return [];
    return [`${path}:${line}: src/${own} may not import ${specifier}: ${layer.instead}.`];
  });
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
 * The part of src that a file is in: its folder, or the folder in that which has a row of its own; a file of src itself
 * answers its name. @param {string} path
 */
function folderOf(path) {
  const [, room = '', inner = ''] = path.split('/');
  return `${room}/${inner}` in LAYERS ? `${room}/${inner}` : room;
}
