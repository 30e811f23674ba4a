import type { FlowBody } from '../../contract/flows.js';
import type { Deps } from '../../deps.js';
import type { RecordAnswer } from '../../people/index.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { DOCUMENT_TEXTS } from './document-texts.js';
import { flowText, type Pattern } from './patterns.js';
import { readFlow } from './read-flow.js';
import { createDocument, requireName } from './write-documents.js';

export interface CreateFlowInput {
  readonly workspace: string;
  readonly name: string;
  readonly pattern: Pattern;
  readonly description?: string | undefined;
  /** The agent of its steps; the workspace's first agent when left out. */
  readonly agent?: string | undefined;
  readonly recordAnswer?: RecordAnswer | undefined;
}

const HELPER = 'assistant';

/** Creates a flow from a pattern. A workspace without an agent gets one too, since each step needs an agent. */
export async function createFlow(deps: Deps, caller: Caller, input: CreateFlowInput): Promise<FlowBody> {
  const { workspace, name, pattern, description } = input;
  requireName(name);
  return createDocument(
    deps,
    caller,
    {
      workspace,
      action: 'flow.create',
      name,
      message: `Create flows/${name}`,
      files: (paths) => {
        const agents = agentsIn(paths);
        const agent = input.agent ?? agents[0] ?? HELPER;
        if (input.agent !== undefined && !agents.includes(agent))
          throw new Refusal('refused', `agent: ${agent} does not exist in this workspace`, { code: 'ref/agent' });
        const text = flowText(pattern, { agent, ...(description === undefined ? {} : { description }) });
        const files = new Map([[`flows/${name}.md`, text]]);
        if (agents.length === 0) files.set(`agents/${HELPER}.md`, DOCUMENT_TEXTS.agent.blank({ name: HELPER }));
        return files;
      },
      recordAnswer: input.recordAnswer,
    },
    (sql) => readFlow({ ...deps, db: sql }, caller, { workspace, flow: name }),
  );
}

function agentsIn(paths: ReadonlySet<string>): readonly string[] {
  const names = [...paths].flatMap((path) => /^agents\/([^/]+?)(?:\.md|\/agent\.md)$/.exec(path)?.[1] ?? []);
  return [...new Set(names)].sort();
}
