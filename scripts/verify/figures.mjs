import { importsOf, resolveImport } from './imports.mjs';

/** @typedef {import('./tracked.mjs').Files} Files */

const SOURCE = /^src\/(?!.*\/generated\/).*\.ts$/;
/** A route as small as any: what a test app loads for it. */
const ROUTE = 'src/api/routes/workspaces.ts';

/** What the size and the shape of the code are, for a comparison over time. @param {Files} files @returns {Record<string, number>} */
export function figuresOf(files) {
  const sources = new Map([...files].filter(([path]) => SOURCE.test(path)));
  const lines = [...sources.values()].map((text) => text.split('\n').length).sort((a, b) => a - b);
  const importers = importersOf(sources);
  const single = [...importers.values()].filter((each) => each.size === 1).length;
  const all = [...sources.values()].join('\n');
  const count = (/** @type {RegExp} */ pattern) => all.match(pattern)?.length ?? 0;
  return {
    files: sources.size,
    lines: lines.reduce((sum, each) => sum + each, 0),
    'median lines a file': lines[Math.floor(lines.length / 2)] ?? 0,
    'doors (index.ts)': [...sources.keys()].filter((path) => path.endsWith('/index.ts')).length,
    'files with one importer': single,
    'files that one route reaches': reachOf(ROUTE, sources),
    'files that a run reaches': reachOf('src/activities/index.ts', sources),
    'as never': count(/\bas never\b/g),
    setInterval: count(/\bsetInterval\(/g),
    'statements by Prisma Client': count(
      /\bprisma\.[a-z]\w*\.(?:find|create|update|delete|upsert|count|aggregate)\w*\(/g,
    ),
    'statements by SQL': count(/\b(?:query|text)\b[^\n]{0,40}\n?\s*[`'"]\s*(?:WITH|SELECT|INSERT|UPDATE|DELETE)\b/g),
    'README, bytes': Buffer.byteLength(files.get('README.md') ?? ''),
    'ARCHITECTURE, bytes': Buffer.byteLength(files.get('ARCHITECTURE.md') ?? ''),
  };
}

/** @param {Files} sources @returns {Map<string, Set<string>>} */
function importersOf(sources) {
  /** @type {Map<string, Set<string>>} */
  const importers = new Map([...sources.keys()].map((path) => [path, new Set()]));
  for (const [path, text] of sources)
    for (const { specifier } of importsOf(text)) importers.get(resolveImport(path, specifier) ?? '')?.add(path);
  return importers;
}

/** How many files are loaded with this one, types aside. @param {string} start @param {Files} sources */
function reachOf(start, sources) {
  const seen = new Set([start]);
  for (const path of seen)
    for (const { specifier, typeOnly } of importsOf(sources.get(path) ?? '')) {
      const target = resolveImport(path, specifier);
      if (!typeOnly && target !== null && sources.has(target)) seen.add(target);
    }
  return seen.size;
}
