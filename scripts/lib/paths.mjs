import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json, with no slash at its end. */
export const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[/\\]$/, '');

/** @param {...string} parts */
export const inRoot = (...parts) => join(root, ...parts);

/** Programs that outlast a clone: Temporal's takes minutes to build. `src/platform/embedded` looks here too. */
export const binDir = () => join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'signalbox', 'bin');
