import type { NetRequest } from './contract.js';
import { checkHeaders } from './headers.js';
import { NetError } from './net-error.js';
import type { Message } from './redirect.js';

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** The message of the first hop. Throws NetError. */
export function messageOf(request: NetRequest, agent: string): Message {
  const headers = { 'user-agent': agent, ...checkHeaders(request.headers ?? {}) };
  const method = (request.method ?? 'GET').toUpperCase();
  if (!METHODS.has(method)) throw new NetError('bad-request', `the method "${method.slice(0, 20)}" is not supported`);
  return { method, headers, body: request.body ?? null };
}
