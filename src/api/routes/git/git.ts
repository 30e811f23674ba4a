import { createRoute, z } from '@hono/zod-openapi';
import { advertiseFetch, advertisePush, receivePush, serveFetch } from '../../../remotes/index.js';
import { notFound } from '../../../shared/refusal.js';
import { clientSignal } from '../../client-left.js';
import { defineRoute } from '../../define-route.js';
import { bodyOf, FETCH_LONGEST_MS, forGit, NO_CACHE, remoteOf, streamed } from './git-request.js';

const Params = z.object({
  tenant: z.string().openapi({ description: 'The account' }),
  repo: z.string().openapi({ description: 'The workspace’s name, with or without `.git`' }),
});
const bytes = { content: { '*/*': { schema: z.unknown() } } };
const answers = { 200: { description: 'As git’s smart HTTP says', ...bytes } };
const tags = ['Git'];

export const getRefs = defineRoute({
  access: 'token',
  text: true,
  route: createRoute({
    method: 'get',
    path: '/git/{tenant}/{repo}/info/refs',
    summary: 'What there is to fetch, or to push to: for git',
    tags,
    request: { params: Params, query: z.object({ service: z.string().optional() }) },
    responses: answers,
  }),
  handle: (c) =>
    forGit(c, async () => {
      const { service } = c.req.valid('query');
      // A request without a service uses the dumb protocol, which is refused, but only after authentication.
      const isPush = service === 'git-receive-pack';
      const remote = await remoteOf(c, isPush ? service : 'git-upload-pack');
      if (service !== 'git-upload-pack' && !isPush) throw notFound('service: use a git that speaks smart HTTP');
      const request = { protocol: c.req.header('git-protocol'), signal: clientSignal(c) };
      const refs = isPush ? await advertisePush(c.var.deps, remote) : await advertiseFetch(c.var.deps, remote, request);
      const type = `application/x-${service}-advertisement`;
      return c.body(new Uint8Array(refs), 200, { ...NO_CACHE, 'Content-Type': type });
    }),
});

export const postFetch = defineRoute({
  access: 'token',
  text: true,
  maxBodyBytes: 'stream',
  route: createRoute({
    method: 'post',
    path: '/git/{tenant}/{repo}/git-upload-pack',
    summary: 'Fetch: for git',
    tags,
    request: { params: Params },
    responses: answers,
  }),
  handle: (c) =>
    forGit(c, async () => {
      const remote = await remoteOf(c, 'git-upload-pack');
      const request = { protocol: c.req.header('git-protocol'), ...bodyOf(c, FETCH_LONGEST_MS) };
      return streamed(c, await serveFetch(c.var.deps, remote, request), 'application/x-git-upload-pack-result');
    }),
});

export const postPush = defineRoute({
  access: 'token',
  text: true,
  maxBodyBytes: 'stream',
  route: createRoute({
    method: 'post',
    path: '/git/{tenant}/{repo}/git-receive-pack',
    summary: 'Push: for git',
    tags,
    request: { params: Params },
    responses: answers,
  }),
  handle: (c) =>
    forGit(c, async () => {
      const remote = await remoteOf(c, 'git-receive-pack');
      return streamed(c, await receivePush(c.var.deps, remote, bodyOf(c)), 'application/x-git-receive-pack-result');
    }),
});
