import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { STATE_MINUTES } from '../../../secrets/index.js';
import type { AppEnv } from '../../env.js';

/** Binds connections to the browser that started them. Lax, since the provider redirects the browser by a link. */
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
