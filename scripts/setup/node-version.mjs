import { SetupError } from '../lib/progress.mjs';

const FLOOR = /** @type {const} */ ([20, 19]);

/** @param {string} version such as `20.19.1` */
export function checkNodeVersion(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > FLOOR[0] || (major === FLOOR[0] && minor >= FLOOR[1])) return;
  throw new SetupError(
    `Signalbox needs Node ${FLOOR.join('.')} or newer, and this is Node ${version}: install a newer one (https://nodejs.org) and start again.`,
  );
}
