import { climbs } from '../../platform/net/index.js';
import { BadArgument } from '../arguments.js';

/**
 * The URL of a path below a base. Refuses a path that leaves the base, as it is or once the server has decoded it
 * (security 19). `query` holds encoded pairs; those of the base stay.
 */
export function below(base: string, path: string, query: readonly string[]): string {
  const root = new URL(base);
  const [written = '', ...rest] = path.split('?');
  if (/^[a-z][a-z0-9+.-]*:/i.test(written) || /^[/\\]{2}/.test(written)) {
    throw new BadArgument('"path" is below the address of the tool: leave scheme and host out, like /orders/17');
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  if (/[\\#\u0000-\u0020\u007f]/.test(written) || climbs(written) || /(^|\/)(\.|%2e)(\/|$)/i.test(written)) {
    throw new BadArgument(
      '"path" holds ".", "..", "#", "\\" or a space: write it plainly, and encode what is a part of a name',
    );
  }
  const folder = root.pathname.replace(/\/$/, '');
  const url = new URL(root.origin);
  url.pathname = written === '' ? root.pathname : `${folder}/${written.replace(/^\//, '')}`;
  url.search = [root.search.slice(1), rest.join('?').split('#')[0] ?? '', ...query]
    .filter((part) => part !== '')
    .join('&');
  if (url.origin !== root.origin || !(url.pathname === root.pathname || url.pathname.startsWith(`${folder}/`))) {
    throw new BadArgument('"path" leaves the address of the tool: write it plainly, like /orders/17');
  }
  return url.href;
}
