import type { Deps } from '../../deps.js';
import { baseUrlOf } from '../../shared/base-url.js';

/** Where providers send people back to. Without a public address it is the listening one, for browsers on this machine. */
export function redirectUriOf({ config }: Pick<Deps, 'config'>): string {
  return `${baseUrlOf(config)}/api/oauth/callback`;
}
