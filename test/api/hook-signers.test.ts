import { createHmac } from 'node:crypto';
import { sign as signAsCodeHost, verify as verifyAsCodeHost } from '@octokit/webhooks-methods';
import { isValidSlackRequest } from '@slack/bolt';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { Webhook as Svix } from 'svix';
import { beforeAll, expect, test } from 'vitest';
import { routes } from '../../src/api/routes/index.js';
import type { Workflows } from '../../src/platform/temporal/contract.js';
import { hooked, hookOf, runsOf, send } from '../support/hooks.js';
import { AGENT, createWorkspaceApp, type WorkspaceApp } from '../support/workspace-app.js';

let app: WorkspaceApp;
beforeAll(async () => {
  const workflows = new Proxy({} as Workflows, { get: () => () => Promise.reject(new Error('Temporal is away')) });
  app = await createWorkspaceApp({ routes, deps: { workflows } });
});

interface Delivery {
  readonly secret: string;
  readonly body: string;
  /** Seconds since the epoch. */
  readonly at: number;
}
type Headers = Readonly<Record<string, string>>;
interface Signer {
  readonly settings: string;
  readonly secret: string;
  /** What the provider sends with a delivery, signed by its own library. */
  readonly headers: (delivery: Delivery) => Headers | Promise<Headers>;
  /** False where the provider signs no time. */
  readonly isTimed?: boolean;
}

const TEXT_SECRET = '8f742231b10e8888abcd99f1c5a2b6d0';
const CODED_SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
const stripe = new Stripe('sk_test_none');
const base64 = ({ secret, body }: Delivery) => createHmac('sha256', secret).update(body).digest('base64');

const slackHeaders = ({ secret, body, at }: Delivery) => {
  const mac = createHmac('sha256', secret).update(`v0:${at}:${body}`).digest('hex');
  const headers = { 'x-slack-signature': `v0=${mac}`, 'x-slack-request-timestamp': String(at) };
  // The library has no signer; what its verifier takes is what the provider sends.
  const isTheirs = isValidSlackRequest({
    signingSecret: secret,
    body,
    headers: { ...headers, 'x-slack-request-timestamp': at },
    nowMilliseconds: at * 1_000,
  });
  if (!isTheirs) throw new Error('the library does not take the signature');
  return headers;
};

const SIGNERS: Readonly<Record<string, Signer>> = {
  'stripe signs a payment': {
    settings: 'signature: payment',
    secret: CODED_SECRET,
    headers: ({ secret, body, at }) => ({
      'stripe-signature': stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp: at }),
    }),
  },
  'octokit signs for a code host': {
    settings: 'signature: code_host',
    secret: TEXT_SECRET,
    headers: async ({ secret, body }) => {
      const signature = await signAsCodeHost(secret, body);
      expect(await verifyAsCodeHost(secret, body, signature)).toBe(true);
      return { 'x-hub-signature-256': signature, 'x-github-event': 'push' };
    },
    isTimed: false,
  },
  'bolt takes what a chat sends': { settings: 'signature: chat', secret: TEXT_SECRET, headers: slackHeaders },
  'standardwebhooks signs, whatever the kind': {
    settings: 'signature: hmac',
    secret: CODED_SECRET,
    headers: ({ secret, body, at }) => ({
      'webhook-id': `msg_${body.length}`,
      'webhook-timestamp': String(at),
      'webhook-signature': new StandardWebhook(secret).sign(`msg_${body.length}`, new Date(at * 1_000), body),
    }),
  },
  'svix signs under its own names of the headers': {
    settings: 'signature: payment',
    secret: CODED_SECRET,
    headers: ({ secret, body, at }) => ({
      'svix-id': `msg_${body.length}`,
      'svix-timestamp': String(at),
      'svix-signature': new Svix(secret).sign(`msg_${body.length}`, new Date(at * 1_000), body),
    }),
  },
  'a shop’s base64': {
    settings: 'signature: hmac\nsignature_header: X-Shopify-Hmac-Sha256',
    secret: TEXT_SECRET,
    headers: (delivery) => ({ 'x-shopify-hmac-sha256': base64(delivery) }),
    isTimed: false,
  },
  'a plain base64 with its algorithm’s name': {
    settings: 'signature: hmac',
    secret: TEXT_SECRET,
    headers: (delivery) => ({ 'x-signature': `sha256=${base64(delivery)}` }),
    isTimed: false,
  },
};

const BODIES = ['{"id":"evt_1","text":"Zażółć 🌻","n":1.50}\n', '  {"id":"evt_2" , "nested":{"a":[1,null]}}'];

test.each(Object.entries(SIGNERS))('security 9: %s; another body, secret or time is refused', async (title, signer) => {
  const { settings, secret, headers, isTimed = true } = signer;
  const name = `K_${title.replace(/\W/g, '_').toUpperCase()}`;
  expect((await app.put('/api/secrets', { name, value: secret })).status).toBe(200);
  const workspace = await app.workspace({
    'agents/writer.md': AGENT,
    'flows/hooked.md': hooked(`trigger: webhook\n${settings}\nsigning_secret: ${name}`),
  });
  const { hookUrl } = await hookOf(app, workspace.name);
  const at = Math.floor(Date.now() / 1_000);
  const deliver = async (body: string, signed: Delivery) =>
    (await send(app, hookUrl, body, { headers: await headers(signed) }))[0];

  for (const body of BODIES) expect(await deliver(body, { secret, body, at })).toBe(202);
  const [body = ''] = BODIES;
  const other = secret === CODED_SECRET ? 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' : `${secret}0`;
  expect(await deliver(body, { secret: other, body, at })).toBe(401);
  expect(await deliver(`${body} `, { secret, body, at })).toBe(401);
  for (const late of [at - 310, at + 310])
    expect(
      await deliver(body.replace('evt_1', 'evt_3'), { secret, body: body.replace('evt_1', 'evt_3'), at: late }),
    ).toBe(isTimed ? 401 : 202);
  const inputs = (await runsOf(app, workspace.name)).map(({ input }) => (input as { id: string }).id);
  expect(inputs.slice(0, 2)).toEqual(['evt_1', 'evt_2']);
  expect(inputs.length).toBe(isTimed ? 2 : 4);
});
