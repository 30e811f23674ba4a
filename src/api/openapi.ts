import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Config } from '../platform/config/index.js';
import type { JsonObject } from '../shared/json.js';
import type { AppEnv } from './env.js';

type Document = { openapi: string; [key: string]: JsonObject | string };

const made = new WeakMap<OpenAPIHono<AppEnv>, Document>();

/** The description of the API, generated once from the validation schemas. */
export function openApiDocument(app: OpenAPIHono<AppEnv>, config: Pick<Config, 'version' | 'publicUrl'>): Document {
  const document = made.get(app) ?? describe(app, config);
  made.set(app, document);
  return document;
}

function describe(app: OpenAPIHono<AppEnv>, { version, publicUrl }: Pick<Config, 'version' | 'publicUrl'>): Document {
  const document: unknown = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Signalbox',
      version,
      description: 'Workspaces of agents and flows, their deploys, and durable runs that wait for people and events.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    servers: [{ url: publicUrl ?? '/' }],
  });
  return document as Document;
}
