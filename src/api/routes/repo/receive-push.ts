import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { PushKept, PushParams, PushPassed, PushQuery } from '../../../contract/code-host.js';
import { receiveCodePush, requireProofHeader } from '../../../remotes/index.js';
import { clientAddress } from '../../auth/client-address.js';
import { defineRoute } from '../../define-route.js';
import type { AppEnv, GuardedEnv } from '../../env.js';
import { acceptedResponse, okResponse } from '../../schemas.js';
import { invalid } from '../../validate.js';

/** GitHub's limit of a payload. */
const PAYLOAD_BYTES = 25 * 1024 * 1024;

/** Refuses what the headers alone can refuse, before the body is read. */
async function findProof(c: Context<GuardedEnv>): Promise<void> {
  const { tenant = '', ws: workspace = '' } = c.req.param() as Readonly<Record<string, string>>;
  const address = clientAddress(c as Context<AppEnv>);
  await requireProofHeader(c.var.deps, { tenant, workspace, headers: c.req.header(), address });
}

/** Strict, since `?brnch=live` would otherwise deploy main. */
const KnownQuery = PushQuery.strict();

export const postCodePush = defineRoute({
  access: 'token',
  find: findProof,
  provenByBody: true,
  maxBodyBytes: PAYLOAD_BYTES,
  route: createRoute({
    method: 'post',
    path: '/api/git/{tenant}/{ws}',
    summary: 'A code host reports a push: the archive of its commit is fetched and deployed',
    tags: ['Triggers'],
    request: {
      params: PushParams,
      query: PushQuery,
      // Any content type: the signature covers the bytes, so they are not parsed before it is checked.
      body: { content: { '*/*': { schema: z.unknown() } } },
    },
    responses: {
      ...acceptedResponse(PushKept, 'The push is kept, and deployed by itself'),
      ...okResponse(PushPassed, 'Nothing is to be done: a ping, another event, another branch'),
    },
  }),
  handle: async (c) => {
    const { tenant, ws: workspace } = c.req.valid('param');
    const query = c.req.valid('query');
    const { branch, dir } = query;
    const read = KnownQuery.safeParse(query);
    const answer = await receiveCodePush(c.var.deps, {
      tenant,
      workspace,
      branch,
      dir,
      headers: c.req.header(),
      body: new Uint8Array(await c.req.arrayBuffer()),
      maxBytes: PAYLOAD_BYTES,
      address: clientAddress(c),
      fault: read.success ? null : invalid(read.error, { where: 'query', schema: KnownQuery, data: query }),
    });
    c.header('Cache-Control', 'no-store');
    return 'id' in answer ? c.json(answer, 202) : c.json(answer, 200);
  },
});
