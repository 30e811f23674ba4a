import { createRoute } from '@hono/zod-openapi';
import { createAgent, createAsset, listAgents, readVocabulary } from '../../content/index.js';
import { WorkspaceParams } from '../../contract/common.js';
import { AgentList, CreateAgent, CreatedAgentBody, NamedPage } from '../../contract/flows.js';
import { CreateAssetBody, CreatedAssetBody, VocabularyBody } from '../../contract/workspaces.js';
import { defineRoute, type Route } from '../define-route.js';
import { createdResponse, jsonBody, okResponse } from '../schemas.js';

const getAgents = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/agents',
    summary: 'The agents, by name',
    tags: ['Agents'],
    request: { params: WorkspaceParams, query: NamedPage },
    responses: okResponse(AgentList),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    return c.json(await listAgents(c.var.deps, c.var.caller, { workspace, ...c.req.valid('query') }), 200);
  },
});

const postAgents = defineRoute({
  access: { role: 'editor' },
  idempotent: 'settled',
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/agents',
    summary: 'Create an agent from a template',
    tags: ['Agents'],
    request: { params: WorkspaceParams, body: jsonBody(CreateAgent) },
    responses: createdResponse(CreatedAgentBody),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    const input = { workspace, ...c.req.valid('json'), recordAnswer: c.var.recordAnswer?.(201) };
    return c.json(await createAgent(c.var.deps, c.var.caller, input), 201);
  },
});

const postAssets = defineRoute({
  access: { role: 'editor' },
  idempotent: 'settled',
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/assets',
    summary: 'Create a document of a kind from a template',
    tags: ['Source'],
    request: { params: WorkspaceParams, body: jsonBody(CreateAssetBody) },
    responses: createdResponse(CreatedAssetBody),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    const input = { workspace, ...c.req.valid('json'), recordAnswer: c.var.recordAnswer?.(201) };
    return c.json(await createAsset(c.var.deps, c.var.caller, input), 201);
  },
});

const getVocabulary = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/vocabulary',
    summary: 'What an editor needs to complete a document',
    tags: ['Source'],
    request: { params: WorkspaceParams },
    responses: okResponse(VocabularyBody),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    return c.json(await readVocabulary(c.var.deps, c.var.caller, { workspace }), 200);
  },
});

export const agentRoutes: readonly Route[] = [getAgents, postAgents, postAssets, getVocabulary];
