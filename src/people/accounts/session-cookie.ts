import type { Config } from '../../platform/config/index.js';
import { CookieController, TimeSpan } from './primitives.js';

export const SESSION_COOKIE = 'service_session';

/** The `Set-Cookie` header for a session's token; null deletes the cookie. Valid for 30 days from the last use. */
export function sessionCookie({ publicUrl }: Pick<Config, 'publicUrl'>, token: string | null): string {
  const secure = publicUrl?.startsWith('https:') ?? false;
  const attributes = { httpOnly: true, sameSite: 'lax', path: '/', secure } as const;
  const controller = new CookieController(SESSION_COOKIE, attributes, { expiresIn: new TimeSpan(30, 'd') });
  return (token === null ? controller.createBlankCookie() : controller.createCookie(token)).serialize();
}
