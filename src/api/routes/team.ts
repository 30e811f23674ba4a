import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { JoinForm, JoinQuery } from '../../contract/join.js';
import { Ok } from '../../contract/runs.js';
import {
  ChangedMember,
  ChangeMember,
  Invited,
  InviteMember,
  InviteParams,
  MemberParams,
  RemovedMember,
  TeamBody,
  TransferAccount,
  Transferred,
} from '../../contract/team.js';
import { inviteMember } from '../../notify/index.js';
import {
  changeMember,
  describeInvite,
  findInvite,
  findMember,
  listTeam,
  logIn,
  removeMember,
  revokeInvite,
  sessionCookie,
  signUp,
  transferAccount,
} from '../../people/index.js';
import { clientAddress } from '../auth/client-address.js';
import { refuseForeignPage } from '../auth/same-origin.js';
import { browserOf } from '../auth/session.js';
import { defineRoute, type Route } from '../define-route.js';
import type { GuardedEnv } from '../env.js';
import { joinPage } from '../pages/join.js';
import { setPageHeaders } from '../pages/page.js';
import { createdResponse, jsonBody, limitedResponse, okResponse, Page, rawResponse } from '../schemas.js';
import { sentBody } from '../sent-body.js';

const memberInPath = (c: Context<GuardedEnv>) => findMember(c.var.deps.db, c.var.caller, c.req.param('id') ?? '');

/** Only the owner may act on admins. */
const ofAdmin = async (c: Context<GuardedEnv>) => ((await memberInPath(c)).role === 'admin' ? 'owner' : null);

const patchMember = defineRoute({
  access: { role: 'admin', person: true },
  find: memberInPath,
  needs: async (c) => ((await sentBody(c)).role === 'admin' ? 'owner' : ofAdmin(c)),
  route: createRoute({
    method: 'patch',
    path: '/api/team/members/{id}',
    summary: 'Change a member’s role or workspaces; only the owner appoints and removes admins',
    tags: ['Account'],
    request: { params: MemberParams, body: jsonBody(ChangeMember) },
    responses: okResponse(ChangedMember, 'The member as they are now'),
  }),
  handle: async (c) => {
    const { id } = c.req.valid('param');
    return c.json(await changeMember(c.var.deps, c.var.caller, { id, ...c.req.valid('json') }), 200);
  },
});

const deleteMember = defineRoute({
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

const inviteInPath = (c: Context<GuardedEnv>) => findInvite(c.var.deps.db, c.var.caller, c.req.param('id') ?? '');

const postInvite = defineRoute({
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

const deleteInvite = defineRoute({
  access: { role: 'admin', person: true },
  find: inviteInPath,
  needs: async (c) => ((await inviteInPath(c)).role === 'admin' ? 'owner' : null),
  route: createRoute({
    method: 'delete',
    path: '/api/team/invites/{id}',
    summary: 'Revoke an invite; only the owner revokes those of admins',
    tags: ['Account'],
    request: { params: InviteParams },
    responses: okResponse(Ok, 'Its link no longer works'),
  }),
  handle: async (c) => c.json(await revokeInvite(c.var.deps, c.var.caller, c.req.valid('param').id), 200),
});

const getJoin = defineRoute({
  access: 'open',
  page: true,
  route: createRoute({
    method: 'get',
    path: '/join',
    summary: 'The page of an invite’s link',
    tags: ['Authentication'],
    request: { query: JoinQuery },
    responses: { 200: rawResponse('text/html', 'The page') },
  }),
  handle: async (c) => {
    const { token } = c.req.valid('query');
    const invite = await describeInvite(c.var.deps, token);
    // The address holds the token, which only our own pages may receive as referrer.
    setPageHeaders(c, 'same-origin');
    return c.html(joinPage(invite, token));
  },
});

const postJoin = defineRoute({
  access: 'open',
  page: true,
  sends: ['Set-Cookie'],
  route: createRoute({
    method: 'post',
    path: '/join',
    summary: 'Accept an invite by the page’s form: choose a password, and be signed in',
    tags: ['Authentication'],
    request: { body: { required: true, content: { 'application/x-www-form-urlencoded': { schema: JoinForm } } } },
    responses: { 303: { description: 'Signed in' }, ...limitedResponse },
  }),
  handle: async (c) => {
    refuseForeignPage(c);
    const { deps } = c.var;
    const { token: invite, password } = c.req.valid('form');
    const { email } = await describeInvite(deps, invite);
    await signUp(deps, { email, password, account: null, invite, address: clientAddress(c) });
    const { token } = await logIn(deps, { email, password }, browserOf(c));
    c.header('Set-Cookie', sessionCookie(deps.config, token));
    return c.redirect('/', 303);
  },
});

const getTeam = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/team',
    summary: 'The members of the account, and the invites that are open',
    tags: ['Account'],
    request: { query: Page },
    responses: okResponse(TeamBody),
  }),
  handle: async (c) => c.json(await listTeam(c.var.deps, c.var.caller, c.req.valid('query')), 200),
});

const postTransfer = defineRoute({
  access: { role: 'owner', person: true },
  route: createRoute({
    method: 'post',
    path: '/api/team/transfer',
    summary: 'Make another member the owner; the caller becomes an admin',
    tags: ['Account'],
    request: { body: jsonBody(TransferAccount) },
    responses: okResponse(Transferred, 'The new owner'),
  }),
  handle: async (c) => c.json(await transferAccount(c.var.deps, c.var.caller, c.req.valid('json').to), 200),
});

export const teamRoutes: readonly Route[] = [
  getTeam,
  postInvite,
  deleteInvite,
  patchMember,
  deleteMember,
  postTransfer,
  getJoin,
  postJoin,
];
