import { readFile } from 'node:fs/promises';

/**
 * What the files of Temporal's SDK find by their own place, and how they find it from dist/. The bundler of workflows is
 * for the build only: it brings webpack with it. The worker asks it only for the names of its default interceptors.
 */
const CHANGES = [
  {
    file: /@temporalio[/\\]worker[/\\]lib[/\\]workflow[/\\]bundler\.js$/,
    change: () => 'exports.defaultWorkflowInterceptorModules = [];',
  },
  {
    file: /@temporalio[/\\]core-bridge[/\\]common\.js$/,
    change: replace('resolve(__dirname,', "resolve(path.dirname(require.resolve('@temporalio/core-bridge')),"),
  },
  {
    file: /@temporalio[/\\]worker[/\\]lib[/\\]workflow[/\\]threaded-vm\.js$/,
    change: replace("require.resolve('./workflow-worker-thread')", "require.resolve('./workflow-thread.js')"),
  },
];

/** For esbuild: makes Temporal's SDK work from within a bundle. */
export const temporalSdk = {
  name: 'temporal-sdk',
  /** @param {import('esbuild').PluginBuild} build */
  setup(build) {
    for (const { file, change } of CHANGES)
      build.onLoad({ filter: file }, async ({ path }) => ({ contents: change(await readFile(path, 'utf8'), path) }));
  },
};

/** @param {string} from @param {string} to */
function replace(from, to) {
  return (/** @type {string} */ text, /** @type {string} */ path) => {
    if (!text.includes(from)) throw new Error(`${path} does not contain ${from}: adapt scripts/lib/temporal-sdk.mjs`);
    return text.replace(from, () => to);
  };
}
