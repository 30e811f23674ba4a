import type { SourceFile } from '../model.js';
import type { ReadCase } from '../parse/eval-model.js';
import type { ReadFlow } from '../parse/flow-model.js';
import type { FileModel, ReadFile } from '../parse/read-file.js';
import { allNodes } from '../parse/step-scope.js';
import { currentAssertion, currentStepPath, type NamedFlow, type NamedTarget } from './current-steps.js';

/** A file of a kind, found by its name. */
export type Found<K extends FileModel['kind']> = ReadFile & { readonly model: Extract<FileModel, { kind: K }> };

/** The files of a tree by kind and name. References between files are resolved here. */
export interface Catalog {
  readonly files: ReadonlyMap<string, SourceFile>;
  /** Sorted paths of the tree, for prefix searches. */
  readonly paths: readonly string[];
  readonly read: readonly ReadFile[];
  readonly defaults: Found<'workspace'> | undefined;
  readonly servers: Found<'servers'> | undefined;
  readonly agents: ReadonlyMap<string, Found<'agent'>>;
  readonly flows: ReadonlyMap<string, Found<'flow'>>;
  /** Nearest first: see layersOf. */
  readonly tools: ReadonlyMap<string, Found<'tool'>>;
  readonly skills: ReadonlyMap<string, Found<'skill'>>;
  readonly documents: ReadonlyMap<string, Found<'document'>>;
}

export const LIBRARY = 'library/';

/** The key of a tool or a skill in the catalog: its layer, then its name. */
function layerKey(layer: string, name: string): string {
  return `${layer}${name}`;
}

/** The layers that an agent searches, nearest first: its own folder, the workspace, the account's library. */
export function layersOf(agent: string): readonly string[] {
  return [`agents/${agent}/`, '', LIBRARY];
}

function layerOf({ place, source }: ReadFile): string {
  if (place.owner !== undefined) return `agents/${place.owner}/`;
  return source.path.startsWith(LIBRARY) ? LIBRARY : '';
}

export function catalogOf(files: readonly SourceFile[], read: readonly ReadFile[]): Catalog {
  const of = <K extends FileModel['kind']>(kind: K) =>
    read.filter((file): file is Found<K> => file.model?.kind === kind);
  const byName = <K extends FileModel['kind']>(kind: K) => new Map(of(kind).map((file) => [file.place.name, file]));
  const byLayer = <K extends FileModel['kind']>(kind: K) =>
    new Map(of(kind).map((file) => [layerKey(layerOf(file), file.place.name), file]));
  const flows = byName('flow');
  const here = (file: ReadFile) => layerOf(file) === '';
  return {
    files: new Map(files.map((file) => [file.path, file])),
    paths: files.map(({ path }) => path).sort(),
    read: read.map((file) => (file.model?.kind === 'eval' ? withCurrentSteps(file as Found<'eval'>, flows) : file)),
    defaults: of('workspace').find(here),
    servers: of('servers').find(here),
    agents: byName('agent'),
    flows,
    tools: byLayer('tool'),
    skills: byLayer('skill'),
    documents: new Map(of('document').map((file) => [file.source.path, file])),
  };
}

export function nearestIn<T>(map: ReadonlyMap<string, T>, agent: string, name: string): T | undefined {
  for (const layer of layersOf(agent)) {
    const found = map.get(layerKey(layer, name));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** All entries of a map that an agent can reach, the nearest for each name. */
export function reachableIn<T>(map: ReadonlyMap<string, T>, agent: string): Map<string, T> {
  const reachable = new Map<string, T>();
  for (const layer of [...layersOf(agent)].reverse()) {
    for (const [key, value] of map) {
      const name = key.slice(layer.length);
      if (key.startsWith(layer) && !name.includes('/')) reachable.set(name, value);
    }
  }
  return reachable;
}

type Flows = ReadonlyMap<string, Found<'flow'>>;

/** The eval with the current ids of its target's steps, instead of those of earlier versions. */
function withCurrentSteps(evalFile: Found<'eval'>, flows: Flows): Found<'eval'> {
  const { model } = evalFile;
  const { name = '' } = model.keys.values.target ?? {};
  const flow = name.startsWith('flows/') ? flows.get(name.slice('flows/'.length))?.model : undefined;
  if (!flow) return evalFile;
  const flowOf = (called: string): NamedFlow | undefined => {
    const found = flows.get(called)?.model;
    return found && namedFlow(found);
  };
  const target = { flow: namedFlow(flow), flowOf };
  const cases = model.cases.map((read) => currentCase(read, target));
  return { ...evalFile, model: { ...model, cases } };
}

function currentCase(read: ReadCase, target: NamedTarget): ReadCase {
  return {
    ...read,
    decisions: read.decisions.map((decision) => ({ ...decision, step: currentStepPath(decision.step, target) })),
    expect: read.expect.map(({ assertion, ...rest }) => ({ ...rest, assertion: currentAssertion(assertion, target) })),
  };
}

function namedFlow(flow: ReadFlow): NamedFlow {
  const nodes = allNodes(flow).map((node) => {
    const subflow = node.kind === 'step' ? node.options.values.subflow?.name : undefined;
    return { id: node.id, oldId: node.oldId, subflow };
  });
  return { nodes };
}
