import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { AvatarParams, AvatarQuery, AvatarSet } from '../../contract/avatars.js';
import { Ok } from '../../contract/runs.js';
import { assertMaySet, findSubject, readAvatar, removeAvatar, setAvatar } from '../../people/index.js';
import { defineRoute, type Route } from '../define-route.js';
import type { GuardedEnv } from '../env.js';
import { etagOf, isKnown } from '../preconditions.js';
import { okResponse, rawResponse } from '../schemas.js';

const path = '/api/avatars/{kind}/{id}';

const tags = ['Account'];

const bytes = { schema: { type: 'string' as const, format: 'binary' } };

const find = (c: Context<GuardedEnv>) =>
  findSubject(c.var.deps.db, c.var.caller, { kind: c.req.param('kind') ?? '', id: c.req.param('id') ?? '' });

/** The rights depend on the picture's owner, so they are checked before the body. */
const findMine = async (c: Context<GuardedEnv>) => assertMaySet(c.var.caller, await find(c));

const getAvatar = defineRoute({
  access: { role: 'viewer' },
  find,
  reads: ['If-None-Match'],
  sends: ['ETag'],
  route: createRoute({
    method: 'get',
    path,
    summary: 'A picture of a person, a workspace or the account',
    tags,
    request: { params: AvatarParams, query: AvatarQuery },
    responses: {
      200: rawResponse('image/webp', 'The picture; its address changes with it, so it is kept for a year'),
      304: { description: 'It is the one that the caller has' },
    },
  }),
  handle: async (c) => {
    const { content, type, digest } = await readAvatar(c.var.deps, c.var.caller, c.req.valid('param'));
    const version = digest.slice(0, 32);
    c.header('Cache-Control', 'private, max-age=31536000, immutable');
    c.header('ETag', etagOf(version));
    if (isKnown(c, version)) return c.body(null, 304);
    return c.body(new Uint8Array(content), 200, { 'Content-Type': type });
  },
});

/** Under 1 MB. */
const MAX_PICTURE_BYTES = 999_999;

const putAvatar = defineRoute({
  access: { role: 'viewer' },
  maxBodyBytes: MAX_PICTURE_BYTES,
  find: findMine,
  route: createRoute({
    method: 'put',
    path,
    summary: 'Set a picture: a person their own, an admin a workspace’s or the account’s',
    description: 'The bytes of a PNG, JPEG or WebP under 1 MB.',
    tags,
    request: {
      params: AvatarParams,
      body: { content: { 'image/png': bytes, 'image/jpeg': bytes, 'image/webp': bytes } },
    },
    responses: okResponse(AvatarSet),
  }),
  handle: async (c) => {
    const body = new Uint8Array(await c.req.arrayBuffer());
    return c.json(await setAvatar(c.var.deps, c.var.caller, { ...c.req.valid('param'), bytes: body }), 200);
  },
});

const deleteAvatar = defineRoute({
  access: { role: 'viewer' },
  find: findMine,
  route: createRoute({
    method: 'delete',
    path,
    summary: 'Remove a picture',
    tags,
    request: { params: AvatarParams, query: AvatarQuery },
    responses: okResponse(Ok),
  }),
  handle: async (c) => c.json(await removeAvatar(c.var.deps, c.var.caller, c.req.valid('param')), 200),
});

export const avatarRoutes: readonly Route[] = [getAvatar, putAvatar, deleteAvatar];
