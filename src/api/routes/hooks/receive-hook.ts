import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { HookParams, HookPassed, HookQuery, HookStarted, MailStarted } from '../../../contract/triggers.js';
import { type HookDelivery, receiveHook, receiveMail } from '../../../triggers/index.js';
import { clientAddress } from '../../auth/client-address.js';
import { defineRoute } from '../../define-route.js';
import type { AppEnv } from '../../env.js';
import { acceptedResponse, okResponse, spentResponse } from '../../schemas.js';
import { findHookOfToken, hookPathOf } from './params.js';

const HOOK_BYTES = 1024 * 1024;

export const postHook = defineRoute({
  access: 'token',
  find: findHookOfToken,
  maxBodyBytes: HOOK_BYTES,
  route: createRoute({
    method: 'post',
    path: '/api/hooks/{tenant}/{ws}/{flow}',
    summary: 'Start a flow from outside; the body becomes its input',
    tags: ['Triggers'],
    request: {
      params: HookParams,
      query: HookQuery,
      // Any content type: the signature covers the bytes, so they are not parsed before it is checked.
      body: { content: { '*/*': { schema: z.unknown() } } },
    },
    responses: {
      ...acceptedResponse(HookStarted, 'The run is kept, and goes on by itself'),
      ...okResponse(HookPassed, 'Nothing was started: a filter, on_limit: skip, or a challenge'),
      ...spentResponse,
    },
  }),
  handle: async (c) => {
    const answer = await receiveHook(c.var.deps, await deliveryOf(c, HOOK_BYTES));
    c.header('Cache-Control', 'no-store');
    return 'runId' in answer || 'debounced' in answer ? c.json(answer, 202) : c.json(answer, 200);
  },
});

/** Mail includes its attachments. */
const MAIL_BYTES = 25 * 1024 * 1024;

export const postMail = defineRoute({
  access: 'token',
  find: findHookOfToken,
  maxBodyBytes: MAIL_BYTES,
  route: createRoute({
    method: 'post',
    path: '/api/inbox/{tenant}/{ws}/{flow}',
    summary: 'Start a flow by mail: JSON, the form of an inbound parser, or the mail itself as message/rfc822',
    tags: ['Triggers'],
    request: { params: HookParams, query: HookQuery, body: { content: { '*/*': { schema: z.unknown() } } } },
    responses: {
      ...acceptedResponse(MailStarted, 'The run is kept, and goes on by itself'),
      ...okResponse(HookPassed, 'Nothing was started: a filter, a loop, or on_limit: skip'),
      ...spentResponse,
    },
  }),
  handle: async (c) => {
    const answer = await receiveMail(c.var.deps, await deliveryOf(c, MAIL_BYTES));
    c.header('Cache-Control', 'no-store');
    const isStarted = 'runId' in answer || 'debounced' in answer || 'mails' in answer;
    return isStarted ? c.json(answer, 202) : c.json(answer, 200);
  },
});

async function deliveryOf(c: Context<AppEnv>, maxBytes: number): Promise<HookDelivery> {
  return {
    path: hookPathOf(c),
    headers: c.req.header(),
    query: c.req.query(),
    body: new Uint8Array(await c.req.arrayBuffer()),
    maxBytes,
    address: clientAddress(c),
  };
}
