import { inRoot } from '../lib/paths.mjs';
import { SetupError, withProgress } from '../lib/progress.mjs';
import { runChild } from '../lib/run-child.mjs';
import { hashOf, runOnce } from '../lib/stamp.mjs';

const outputs = ['main', 'doctor', 'rotate-keys', 'check-worker', 'block-watch', 'workflow-thread']
  .flatMap((name) => [`${name}.js`, `${name}.cjs`])
  .concat('workflows.js')
  .map((name) => inRoot('dist', name));

/** Builds dist/ when the sources or the packages changed. */
export async function buildBundle() {
  const scripts = ['build', 'lib/ascii-source', 'lib/temporal-sdk', 'lib/thin-streams'];
  const files = scripts.map((name) => `scripts/${name}.mjs`);
  const hash = hashOf(['src', ...files, 'package-lock.json'].map((path) => inRoot(path)));
  await runOnce({ stamp: inRoot('dist/.stamp'), hash, outputs }, () => withProgress('building the service', build));
}

async function build() {
  // A process of its own: the bundlers' memory ends with it, and is not carried through the life of the service.
  const { code, output } = await runChild(process.execPath, [inRoot('scripts/build.mjs')]);
  if (code !== 0) throw new SetupError(`${output.trim()}\n\nThe build ended with ${code}.`);
}
