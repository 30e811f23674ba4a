import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { CodePushes, PushKept, PushParams, PushPassed, PushQuery } from '../../contract/code-host.js';
import { BranchChangeBody, RepoActed, RepoAction, RepoBody, RepoQuery } from '../../contract/repo.js';
import type { Deps } from '../../deps.js';
import type { RecordAnswer } from '../../people/index.js';
import {
  deleteBranch,
  deployRef,
  dropPending,
  listPushes,
  mergeBranch,
  mirrorNow,
  readBranch,
  readRepo,
  receiveCodePush,
  requireProofHeader,
  setMirror,
} from '../../remotes/index.js';
import type { Caller } from '../../shared/roles.js';
import { clientAddress } from '../auth/client-address.js';
import { defineRoute, type Route } from '../define-route.js';
import type { AppEnv, GuardedEnv } from '../env.js';
import { acceptedResponse, jsonBody, okResponse, Page, refusedTreeResponse, WorkspaceParams } from '../schemas.js';
import { sentBody } from '../sent-body.js';
import { invalid } from '../validate.js';

const postRepo = defineRoute({
  access: { role: 'editor' },
  needs: async (c) => ((await sentBody(c)).action === 'mirror' ? 'admin' : null),
  idempotent: 'settled',
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/repo',
    summary:
      'Deploy a ref, merge or delete a branch, give up the pending push, set the mirror (for admins) or bring it up to date',
    tags: ['Repo'],
    request: { params: WorkspaceParams, body: jsonBody(RepoAction) },
    responses: {
      ...okResponse(RepoActed, 'What was done'),
      ...refusedTreeResponse,
    },
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    const { action, ...input } = c.req.valid('json');
    const act = ACTIONS[action] as Act;
    return c.json(
      await act(c.var.deps, c.var.caller, { ...input, workspace, recordAnswer: c.var.recordAnswer?.(200) }),
      200,
    );
  },
});

const ACTIONS = {
  deploy: deployRef,
  merge: mergeBranch,
  'delete-branch': deleteBranch,
  'drop-pending': dropPending,
  mirror: setMirror,
  'mirror-now': mirrorNow,
} as const satisfies {
  readonly [A in RepoAction['action']]: (deps: Deps, caller: Caller, input: Input<A>) => Promise<RepoActed>;
};

const getCodePushes = defineRoute({
  access: { role: 'admin' },
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/repo/pushes',
    summary: 'The pushes of code hosts, newest first, with their outcomes',
    tags: ['Repo'],
    request: { params: WorkspaceParams, query: Page },
    responses: okResponse(CodePushes),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    return c.json(await listPushes(c.var.deps, c.var.caller, { workspace, ...c.req.valid('query') }), 200);
  },
});

const getRepo = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/repo',
    summary: 'Branches, tags and the mirror; with branch its net change against main',
    tags: ['Repo'],
    request: { params: WorkspaceParams, query: RepoQuery },
    responses: okResponse(z.union([RepoBody, BranchChangeBody]), 'The repository, or what the branch changed'),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    const { branch, path } = c.req.valid('query');
    const { deps, caller } = c.var;
    if (branch === undefined) return c.json(await readRepo(deps, caller, { workspace }), 200);
    return c.json(await readBranch(deps, caller, { workspace, branch, path }), 200);
  },
});

/** GitHub's limit of a payload. */
const PAYLOAD_BYTES = 25 * 1024 * 1024;

/** Strict, since `?brnch=live` would otherwise deploy main. */
const KnownQuery = PushQuery.strict();

const postCodePush = defineRoute({
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

export const repoRoutes: readonly Route[] = [getRepo, postRepo, getCodePushes, postCodePush];

type Input<A extends RepoAction['action']> = Omit<Extract<RepoAction, { action: A }>, 'action'> & {
  readonly workspace: string;
  readonly recordAnswer: RecordAnswer | undefined;
};

type Act = (deps: Deps, caller: Caller, input: object) => Promise<RepoActed>;

/** Refuses what the headers alone can refuse, before the body is read. */
async function findProof(c: Context<GuardedEnv>): Promise<void> {
  const { tenant = '', ws: workspace = '' } = c.req.param() as Readonly<Record<string, string>>;
  const address = clientAddress(c as Context<AppEnv>);
  await requireProofHeader(c.var.deps, { tenant, workspace, headers: c.req.header(), address });
}
