import type { Deps } from '../deps.js';

/** Where providers send people back to. Without a public address it is the listening one, for browsers on this machine. */
export function redirectUriOf({ config }: Pick<Deps, 'config'>): string {
  return `${config.publicUrl ?? `http://${config.host}:${config.port}`}/api/oauth/callback`;
}
