import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { ChangedMember, ChangeMember, MemberParams, RemovedMember } from '../../../contract/team.js';
import { changeMember, findMember, removeMember } from '../../../people/index.js';
import { defineRoute } from '../../define-route.js';
import type { GuardedEnv } from '../../env.js';
import { jsonBody, okResponse } from '../../schemas.js';
import { sentBody } from '../../sent-body.js';

const memberInPath = (c: Context<GuardedEnv>) => findMember(c.var.deps.db, c.var.caller, c.req.param('id') ?? '');

/** Only the owner may act on admins. */
const ofAdmin = async (c: Context<GuardedEnv>) => ((await memberInPath(c)).role === 'admin' ? 'owner' : null);

export const patchMember = defineRoute({
  access: { role: 'admin', person: true },
  find: memberInPath,
  needs: async (c) => ((await sentBody(c)).role === 'admin' ? 'owner' : ofAdmin(c)),
  route: createRoute({
    method: 'patch',
    path: '/api/team/members/{id}',
    summary: 'Change a member’s role or workspaces; only the owner makes and unmakes admins',
    tags: ['Account'],
    request: { params: MemberParams, body: jsonBody(ChangeMember) },
    responses: okResponse(ChangedMember, 'The member as they are now'),
  }),
  handle: async (c) => {
    const { id } = c.req.valid('param');
    return c.json(await changeMember(c.var.deps, c.var.caller, { id, ...c.req.valid('json') }), 200);
  },
});

export const deleteMember = defineRoute({
  access: { role: 'admin', person: true },
  find: memberInPath,
  needs: ofAdmin,
  route: createRoute({
    method: 'delete',
    path: '/api/team/members/{id}',
    summary: 'Remove a member; only the owner removes admins',
    tags: ['Account'],
    request: { params: MemberParams },
    responses: okResponse(RemovedMember, 'Their sessions, keys and invites ended with them'),
  }),
  handle: async (c) => c.json(await removeMember(c.var.deps, c.var.caller, c.req.valid('param').id), 200),
});
