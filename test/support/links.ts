import type { Deps } from '../../src/deps.js';
import { approveLinks, type LinkOf } from '../../src/runs/link/approve-link.js';

/** The path and query of a link as it is mailed. */
export function linkPath({ config, keys }: Pick<Deps, 'config' | 'keys'>, link: LinkOf): string {
  const links = approveLinks({ config: { ...config, publicUrl: 'https://box.example' }, keys }, link);
  return links?.approveUrl.slice('https://box.example'.length) ?? '';
}
