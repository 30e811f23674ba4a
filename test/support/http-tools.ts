import type { HttpToolPlan } from '../../src/format/model.js';
import { assembleTools, type CallContext, type ToolContext, type ToolOutcome } from '../../src/tools/index.js';
import { givenSecrets } from './given-secrets.js';
import { createToolLane, type ToolLane } from './tool-lane.js';

/** A lane whose tools may reach this machine, as an operator may open it. */
export function createHttpLane(files: Readonly<Record<string, string>> = {}): Promise<ToolLane> {
  return createToolLane({ files, config: { allowHosts: [{ host: '127.0.0.1', port: null }] } });
}

export function httpPlan(more: Partial<HttpToolPlan>): HttpToolPlan {
  const text = JSON.stringify([more.base, more.headers]);
  return {
    transport: 'http',
    name: 'shop',
    description: 'The shop.',
    path: 'tools/shop.md',
    secrets: [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name),
    methods: ['GET', 'HEAD'],
    headers: {},
    notes: '',
    ...more,
  };
}

export interface HttpTools {
  readonly tools: Awaited<ReturnType<typeof assembleTools>>;
  call(name: string, args: object, change?: Partial<CallContext>): Promise<ToolOutcome>;
}

/** The tools that a plan becomes, for a step that may use these secrets. */
export async function httpTools(
  { deps, context }: ToolLane,
  plan: HttpToolPlan,
  given: { readonly secrets?: Readonly<Record<string, string>>; readonly change?: Partial<ToolContext> } = {},
): Promise<HttpTools> {
  const agent = { ...context.agent, builtins: [], tools: [plan] };
  const used = { ...context, agent, secrets: givenSecrets(given.secrets ?? {}), ...given.change };
  const tools = await assembleTools(deps, used);
  return {
    tools,
    call: async (name, args, change = {}) => {
      const tool = tools.find(({ ref, spec }) => ref === name || spec.name === name);
      if (!tool) throw new Error(`there is no ${name} among ${tools.map(({ ref }) => ref).join(', ')}`);
      return tool.run(args as never, { ...used, callKey: 'call-key-1', ...change });
    },
  };
}
