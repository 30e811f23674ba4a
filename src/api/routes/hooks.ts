import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { Page } from '../../contract/common.js';
import { Skipped } from '../../contract/runs.js';
import {
  Deliveries,
  HookParams,
  HookPassed,
  HookQuery,
  HookStarted,
  HookUrls,
  MailStarted,
  OfDelivery,
  OfHook,
  Redelivered,
} from '../../contract/triggers.js';
import { findTarget } from '../../runs/index.js';
import {
  findDelivery,
  findHook,
  type HookDelivery,
  type HookPath,
  listDeliveries,
  receiveHook,
  receiveMail,
  redeliver,
  rotateHook,
} from '../../triggers/index.js';
import { clientAddress } from '../auth/client-address.js';
import { defineRoute, type Route } from '../define-route.js';
import type { AppEnv, GuardedEnv } from '../env.js';
import { acceptedResponse, okResponse, spentResponse } from '../schemas.js';

const getDeliveries = defineRoute({
  access: { role: 'admin' },
  find: findHookOfPath,
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/hooks/{flow}/deliveries',
    summary: 'The deliveries of a flow, newest first, with the outcome of each',
    tags: ['Triggers'],
    request: { params: OfHook, query: Page },
    responses: okResponse(Deliveries),
  }),
  handle: async (c) => {
    const { ws: workspace, flow } = c.req.valid('param');
    const input = { workspace, flow, ...c.req.valid('query') };
    return c.json(await listDeliveries(c.var.deps, c.var.caller, input), 200);
  },
});

const postRedelivery = defineRoute({
  access: { role: 'admin' },
  idempotent: 'settled',
  find: findDeliveryOfPath,
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/hooks/{flow}/deliveries/{id}/redeliver',
    summary: 'Start the flow as it is now with what a delivery brought',
    tags: ['Triggers'],
    request: { params: OfDelivery },
    responses: {
      ...acceptedResponse(Redelivered, 'The run is stored, and continues by itself'),
      ...okResponse(Skipped),
      ...spentResponse,
    },
  }),
  handle: async (c) => {
    const { ws: workspace, flow, id } = c.req.valid('param');
    const answer = await redeliver(c.var.deps, c.var.caller, { workspace, flow, id, recordAnswer: c.var.recordAnswer });
    return 'skipped' in answer ? c.json(answer, 200) : c.json(answer, 202);
  },
});

const HOOK_BYTES = 1024 * 1024;

const postHook = defineRoute({
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
      ...acceptedResponse(HookStarted, 'The run is stored, and continues by itself'),
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

const postMail = defineRoute({
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
      ...acceptedResponse(MailStarted, 'The run is stored, and continues by itself'),
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

const rotate = defineRoute({
  access: { role: 'admin' },
  find: findHookOfPath,
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/hooks/{flow}/rotate',
    summary: 'Give a flow’s hook and inbox a new token; the old addresses stop working',
    tags: ['Triggers'],
    request: { params: OfHook },
    responses: okResponse(HookUrls, 'The new addresses'),
  }),
  handle: async (c) => {
    const { ws: workspace, flow } = c.req.valid('param');
    const addresses = await rotateHook(c.var.deps, c.var.caller, { workspace, flow });
    c.header('Cache-Control', 'no-store');
    return c.json(addresses, 200);
  },
});

export const hookRoutes: readonly Route[] = [postHook, postMail, rotate, getDeliveries, postRedelivery];

/** Finds the flow of the path before a refusal for the role. */
async function findHookOfPath(c: Context<GuardedEnv>): Promise<void> {
  const { ws: workspace = '', flow = '' } = c.req.param() as Readonly<Record<string, string>>;
  await findTarget(c.var.deps.db, c.var.caller, { workspace, target: `flows/${flow}` });
}

/** Finds the flow and its delivery. */
async function findDeliveryOfPath(c: Context<GuardedEnv>): Promise<void> {
  const { ws: workspace = '', flow = '', id = '' } = c.req.param() as Readonly<Record<string, string>>;
  await findDelivery(c.var.deps, c.var.caller, { workspace, flow, id });
}

/** Checks that the token belongs to this flow before the input is validated. */
async function findHookOfToken(c: Context<GuardedEnv>): Promise<void> {
  await findHook(c.var.deps, hookPathOf(c));
}

function hookPathOf(c: Context): HookPath {
  const { tenant = '', ws: workspace = '', flow = '' } = c.req.param() as Readonly<Record<string, string>>;
  return { tenant, workspace, flow, token: c.req.query('token') ?? '' };
}

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
