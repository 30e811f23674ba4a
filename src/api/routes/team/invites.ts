import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { Ok } from '../../../contract/runs.js';
import { Invited, InviteMember, InviteParams } from '../../../contract/team.js';
import { inviteMember } from '../../../notify/index.js';
import { findInvite, revokeInvite } from '../../../people/index.js';
import { defineRoute } from '../../define-route.js';
import type { GuardedEnv } from '../../env.js';
import { createdResponse, jsonBody, okResponse } from '../../schemas.js';
import { sentBody } from '../../sent-body.js';

const inviteInPath = (c: Context<GuardedEnv>) => findInvite(c.var.deps.db, c.var.caller, c.req.param('id') ?? '');

export const postInvite = defineRoute({
  access: { role: 'admin', person: true },
  needs: async (c) => ((await sentBody(c)).role === 'admin' ? 'owner' : null),
  route: createRoute({
    method: 'post',
    path: '/api/team',
    summary: 'Invite one address; only the owner invites admins',
    tags: ['Account'],
    request: { body: jsonBody(InviteMember) },
    responses: createdResponse(Invited, 'The invite, and its link'),
  }),
  handle: async (c) => {
    const { workspaces = null, ...body } = c.req.valid('json');
    return c.json(await inviteMember(c.var.deps, c.var.caller, { ...body, workspaces }), 201);
  },
});

export const deleteInvite = defineRoute({
  access: { role: 'admin', person: true },
  find: inviteInPath,
  needs: async (c) => ((await inviteInPath(c)).role === 'admin' ? 'owner' : null),
  route: createRoute({
    method: 'delete',
    path: '/api/team/invites/{id}',
    summary: 'Revoke an invite; only the owner revokes those of admins',
    tags: ['Account'],
    request: { params: InviteParams },
    responses: okResponse(Ok, 'Its link is good for nothing any more'),
  }),
  handle: async (c) => c.json(await revokeInvite(c.var.deps, c.var.caller, c.req.valid('param').id), 200),
});
