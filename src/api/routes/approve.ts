import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { ApproveParams, ApproveQuery, LinkForm, LinkVote, OpenedLink } from '../../contract/approve.js';
import { ErrorBody } from '../../contract/common.js';
import { Decided } from '../../contract/runs.js';
import {
  decideLink,
  type OpenLinkInput,
  openLink,
  requireLink,
  requireLinkDecider,
  requireOwnName,
  type SentVote,
} from '../../runs/index.js';
import { errorMessage, Refusal, type RefusalKind } from '../../shared/refusal.js';
import { clientAddress } from '../auth/client-address.js';
import { defineRoute, type Route } from '../define-route.js';
import type { AppEnv, GuardedEnv, OpenEnv } from '../env.js';
import { approvePage } from '../pages/approve/approve-page.js';
import { readApproveForm } from '../pages/approve/read-form.js';
import { setPageHeaders } from '../pages/page.js';
import { prefersJson } from '../pages/paths.js';
import { jsonResponse } from '../schemas.js';

/** Refusals that a person can fix on the page: it is shown again with their input. */
const PAGE_STATUS = { conflict: 409, refused: 422, forbidden: 403 } as const;

const postApprove = defineRoute({
  access: 'token',
  page: true,
  find: findLink,
  route: createRoute({
    method: 'post',
    path: '/api/approve/{tenant}/{ws}/{id}',
    summary: 'Decide what a run waits for, as the recipient of the link',
    tags: ['Triggers'],
    request: {
      params: ApproveParams,
      query: ApproveQuery,
      body: {
        content: {
          'application/json': { schema: LinkVote },
          'application/x-www-form-urlencoded': { schema: LinkForm },
        },
      },
    },
    responses: {
      200: {
        description: 'Decided, or counted',
        content: { 'text/html': { schema: { type: 'string' as const } }, 'application/json': { schema: Decided } },
      },
    },
  }),
  handle: async (c) => {
    const { deps } = c.var;
    const isPage = !prefersJson(c);
    if (isPage) c.set('page', true);
    await findLink(c);
    const input = linkInput(c);
    await requireLinkDecider(deps, input);
    const type = c.req.header('content-type')?.toLowerCase() ?? '';
    if (type !== '' && !/^application\/(json|x-www-form-urlencoded)\b/.test(type))
      throw new Refusal('unsupported_type', 'send the decision as JSON or as a plain form');
    // Each of the two is empty when the body has the other type.
    const [fields, json] = [c.req.valid('form'), c.req.valid('json')];
    const isForm = type.startsWith('application/x-www-form-urlencoded');
    const vote: Partial<SentVote> = isForm ? readApproveForm(fields, await openLink(deps, input)) : json;
    const { decision, ...details } = vote;
    if (decision === undefined)
      throw new Refusal('refused', 'decision: send approve or reject, in a form or as JSON', { code: 'invalid' });
    setPageHeaders(c);
    try {
      const decided = await decideLink(deps, input, { ...details, decision });
      if (!isPage) return c.json(decided, 200);
      return c.html(approvePage(await openLink(deps, input), { preselected: decision, done: true }), 200);
    } catch (error) {
      const status = isPage && error instanceof Refusal ? pageStatusOf(error.kind) : undefined;
      if (status === undefined) throw error;
      const shown = { preselected: decision, fault: errorMessage(error), given: fields };
      return c.html(approvePage(await openLink(deps, input), shown), status);
    }
  },
});

const getApprove = defineRoute({
  access: 'token',
  page: true,
  find: findLink,
  route: createRoute({
    method: 'get',
    path: '/api/approve/{tenant}/{ws}/{id}',
    summary: 'What a run waits for, and two buttons; JSON where Accept prefers it. It decides nothing',
    tags: ['Triggers'],
    request: { params: ApproveParams, query: ApproveQuery },
    responses: {
      200: {
        description: 'What waits, or how it was decided',
        content: { 'text/html': { schema: { type: 'string' as const } }, 'application/json': { schema: OpenedLink } },
      },
      403: jsonResponse(ErrorBody, 'The recipient of the link may not decide, or no longer'),
    },
  }),
  handle: async (c) => {
    const isPage = !prefersJson(c);
    if (isPage) c.set('page', true);
    await findLink(c);
    const opened = await openLink(c.var.deps, linkInput(c));
    setPageHeaders(c);
    if (!isPage) return c.json(opened, 200);
    const preselected = c.req.valid('query').decision === 'reject' ? 'reject' : 'approve';
    return c.html(approvePage(opened, { preselected }), 200);
  },
});

export const approveRoutes: readonly Route[] = [getApprove, postApprove];

function pageStatusOf(kind: RefusalKind): 403 | 409 | 422 | undefined {
  return (PAGE_STATUS as Partial<Record<RefusalKind, 403 | 409 | 422>>)[kind];
}

/** The link of the address, unchecked: invalid values get the same refusal as a wrong token. */
function linkInput(c: Context): OpenLinkInput {
  const asked = (name: string) => c.req.query(name) ?? '';
  return {
    tenant: c.req.param('tenant') ?? '',
    runId: c.req.param('id') ?? '',
    park: asked('park'),
    to: asked('to'),
    token: asked('token'),
    address: clientAddress(c as Context<AppEnv>),
  };
}

/** Requires a valid link for the workspace in its path, before the input is validated. */
async function findLink(c: Context<GuardedEnv> | Context<OpenEnv>): Promise<void> {
  const link = linkInput(c);
  await requireLink(c.var.deps, link);
  await requireOwnName(c.var.deps, { ...link, workspace: c.req.param('ws') ?? '' });
}
