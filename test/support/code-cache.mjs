// Loaded with --import before the built service: V8 takes the compiled code of each CommonJS module from a file in dist/
// and need not compile it again, which was half of a start's CPU time. A process with MAKE_CODE_CACHE writes that file
// when it exits. Its name says of which build and for which Node it is; V8 refuses code that other flags would compile
// otherwise, and then compiles it.
import { readFileSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { constants, Script } from 'node:vm';
import { inRoot, root } from '../../scripts/lib/paths.mjs';
import { writeWhole } from '../../scripts/lib/stamp.mjs';
import { codeCacheFile } from './code-cache-file.mjs';

/**
 * @typedef {(content: string, filename: string, format?: string) => unknown} Compile
 * @typedef {{ _compile: Compile, exports: unknown, require(id: string): unknown }} Compiled
 * @typedef {{
 *   _resolveFilename(request: string, parent: object, isMain: boolean, options?: object): string,
 *   _extensions: object, _cache: object, prototype: { _compile: Compile },
 * }} Internals
 */
const file = codeCacheFile();
const isMaker = process.env.MAKE_CODE_CACHE !== undefined;
const internals = /** @type {Internals} */ (/** @type {unknown} */ (Module));
const compile = internals.prototype._compile;
/** @type {Map<string, Script>} */
const made = new Map();
const known = isMaker ? new Map() : readCache();

/** A checkout may be copied with its dist/, so paths are those below its root. @param {string} filename */
const keyOf = (filename) => (filename.startsWith(root) ? filename.slice(root.length) : filename);

/** @returns {Map<string, Buffer>} by the module's key */
function readCache() {
  try {
    return deserialize(readFileSync(file));
  } catch {
    return new Map();
  }
}

/** @param {string} content @param {string} filename */
function scriptOf(content, filename) {
  const cachedData = known.get(keyOf(filename));
  return new Script(Module.wrap(content.replace(/^#!.*/, '')), {
    filename,
    ...(cachedData && { cachedData }),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
}

/** @param {Compiled} module */
function requireOf(module) {
  return Object.assign(/** @param {string} id */ (id) => module.require(id), {
    resolve: (/** @type {string} */ request, /** @type {object | undefined} */ options) =>
      internals._resolveFilename(request, module, false, options),
    main: process.mainModule,
    extensions: internals._extensions,
    cache: internals._cache,
  });
}

/** @this {Compiled} @type {Compile} */
internals.prototype._compile = function (content, filename, format) {
  if (format === 'module' || !(isMaker || known.has(keyOf(filename))))
    return compile.call(this, content, filename, format);
  let script;
  try {
    script = scriptOf(content, filename);
  } catch {
    // A module of the other kind, or a fault that Node shows better.
    return compile.call(this, content, filename, format);
  }
  if (isMaker) made.set(keyOf(filename), script);
  const run = script.runInThisContext();
  return run.call(this.exports, this.exports, requireOf(this), this, filename, dirname(filename));
};

/** The thread of the workflows refuses to run as the main thread, but by then its modules are compiled. */
function readThread() {
  try {
    createRequire(import.meta.url)(inRoot('dist/workflow-thread.cjs'));
  } catch {}
}

if (isMaker)
  process.once('exit', () => {
    readThread();
    writeWhole(file, serialize(new Map([...made].map(([key, script]) => [key, script.createCachedData()]))));
  });
