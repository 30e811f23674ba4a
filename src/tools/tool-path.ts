import { pathFault } from '../shared/path-fault.js';
import { BadArgument } from './arguments.js';

/**
 * A path of the workspace's view as a model wrote it. Accepts a leading `/work/` or `./`, as programs write it; refuses
 * any other path that is not canonical, and never repairs one.
 */
export function toolPath(given: string): string {
  const path = given.replace(/^(\/work\/|\.\/)/, '');
  if (path.startsWith('/')) {
    throw new BadArgument(`"${given}" is an absolute path: name files as Glob lists them, like outputs/report.md`);
  }
  const fault = pathFault(path);
  if (fault !== null) throw new BadArgument(`the path ${fault}: name files as Glob lists them, like outputs/report.md`);
  return path;
}
