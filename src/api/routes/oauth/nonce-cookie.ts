import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { STATE_MINUTES } from '../../../oauth/index.js';
import type { AppEnv } from '../../env.js';

/** Binds connections that were begun here to this browser. Lax, since the provider sends the browser back by a link. */
const NAME = 'service_oauth';

export function readNonce(c: Context): string | undefined {
  const value = getCookie(c, NAME);
  return value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined;
}

export function setNonce<E extends AppEnv>(c: Context<E>, nonce: string): void {
  setCookie(c, NAME, nonce, {
    path: '/api/oauth',
    httpOnly: true,
    sameSite: 'Lax',
    secure: c.var.deps.config.publicUrl?.startsWith('https:') ?? false,
    maxAge: STATE_MINUTES * 60,
  });
}
