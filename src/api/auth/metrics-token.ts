import type { Context } from 'hono';
import { equalSecrets } from '../../people/index.js';
import type { AppEnv } from '../env.js';

/** True when the request carries the operator's metrics token. */
export function isMetricsToken(c: Context<AppEnv>): boolean {
  const { metricsToken } = c.var.deps.config;
  const given = /^Bearer +(\S+) *$/i.exec(c.req.header('authorization') ?? '')?.[1];
  return metricsToken !== null && given !== undefined && equalSecrets(given, metricsToken);
}
