import type { Issue } from '../model.js';
import type { ReadEval } from './eval-model.js';
import type { ReadFlow } from './flow-model.js';
import { type OpenFile, openFile } from './open-file.js';
import type { Place } from './place.js';
import { type ReadAgent, readAgent } from './read-agent.js';
import { type ReadDocument, readDocument } from './read-document.js';
import { readEval } from './read-eval.js';
import { readFlow } from './read-flow.js';
import { type ReadMcpJson, readMcpJson } from './read-servers.js';
import { type ReadSkill, readSkill } from './read-skill.js';
import { type ReadTool, readTool } from './read-tool.js';
import { type ReadDefaults, readDefaults } from './read-workspace.js';
import type { Source } from './source.js';

export type FileModel =
  | ReadAgent
  | ReadDefaults
  | ReadDocument
  | ReadEval
  | ReadFlow
  | ReadMcpJson
  | ReadSkill
  | ReadTool;

/** Everything that depends on one file only: a pure function of its path and bytes, so it can be cached. */
export interface ReadFile {
  readonly place: Place;
  readonly source: Source;
  readonly issues: readonly Issue[];
  /** Null when faults leave nothing usable, and for files that are not read. */
  readonly model: FileModel | null;
}

const READERS: Readonly<Record<string, (file: OpenFile, place: Place) => FileModel | null>> = {
  workspace: (file) => readDefaults(file),
  agent: (file, { name }) => readAgent(file, name),
  flow: (file, { name }) => readFlow(file, name),
  eval: (file, { name }) => readEval(file, name),
  tool: (file, { name }) => readTool(file, name),
  knowledge: (file, { name }) => readDocument(file, name, 'knowledge'),
  memory: (file, { name }) => readDocument(file, name, 'memory'),
};

export function readFile(source: Source, place: Place): ReadFile {
  const issues: Issue[] = [];
  if (place.kind === 'skill') return { place, source, issues, model: readSkill(source, place.name, issues) };
  if (place.kind === 'servers') return { place, source, issues, model: readMcpJson({ source, issues }) };
  const reader = READERS[place.kind];
  const file = reader && openFile(source, issues);
  return { place, source, issues, model: file ? reader(file, place) : null };
}
