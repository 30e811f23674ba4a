import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json, with no slash at its end. */
export const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[/\\]$/, '');

/** @param {...string} parts */
export const inRoot = (...parts) => join(root, ...parts);

/** Where things live that outlast a clone: the Temporal CLI takes minutes to build. */
export const cacheDir = () => join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'signalbox');
