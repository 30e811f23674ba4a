import { readRunFile } from '../../content/index.js';
import { type AgentPlan, leavesOf, type StepPlan } from '../../format/model.js';
import { startDeadline } from '../../shared/deadline.js';
import { isRecord, type Json } from '../../shared/json.js';
import { Refusal } from '../../shared/refusal.js';
import type { AgentTool, LaneFolder, ToolContext } from '../../tools/contract.js';
import { assembleTools, type Catalogue, lanePlace, listTools, openLane } from '../../tools/index.js';
import { cannedAnswersOf } from '../cases/canned.js';
import { StepFailure } from '../errors.js';
import { type ActedCall, NO_JOURNAL, readStepJournal, type StepJournal } from '../journal/claim.js';
import { deadlineOf } from '../lane/deadline.js';
import { type Lane, parkId, type StepState, shownWork, writeStep } from '../lane/lane.js';
import { openStepSecrets, recordSecrets, secretsNote } from '../secrets/step-secrets.js';
import { newReferences } from '../text/prompt-text.js';
import { readTranscript } from './compaction/marker.js';
import { readSaved } from './compaction/read-saved.js';
import { buildOpening, buildSystem } from './prompt.js';
import { runAgentTool } from './run-agent-tool.js';
import { journalKey, type Session } from './session.js';
import { stepReporter } from './step-reporter.js';

/** Only for agents that name it. Its call parks the step; the decider's note is the answer. */
const askHuman: AgentTool = {
  ref: 'ask_human',
  spec: {
    name: 'ask_human',
    description:
      'Ask a person one question and wait for the answer. Use it when you cannot continue without a decision.',
    parameters: {
      type: 'object',
      properties: {
        question: { type: 'string', description: 'What the person has to decide, with what they need to know.' },
      },
      required: ['question'],
      additionalProperties: false,
    },
  },
  acts: () => false,
  program: false,
  run: async () => {
    throw new Error('ask_human is answered by its park, never run');
  },
};

const SHOW_AFTER_MS = 250;

/**
 * Rebuilds the state of an attempt from rows and files, so that a worker that takes over starts from the same place.
 */
export async function openSession(
  lane: Lane,
  step: StepPlan,
  state: StepState,
): Promise<Session & { close(): Promise<void> }> {
  const agent = agentOf(lane, step);
  const { deps, run, plan } = lane;
  // A long preparation before the first call (tokens, servers, runtimes) must not leave the run shown as queued.
  const late = setTimeout(() => lane.writer.flushSoon(), SHOW_AFTER_MS);
  try {
    const models = deps.models.resolve(step.model ?? agent.model ?? null, plan.workspace.models);
    const secrets = await openStepSecrets(lane, step, agent);
    const journal = await journalOf(lane, state);
    const folder = folderOf(lane);
    // Files can be missing only when the step continues after an earlier attempt.
    const fresh = journal.messages.length > 0 && (await folder.folder()).fresh;
    const seen = new Map<string, string>();
    for (const files of journal.seen) addSeen(seen, files);
    resumeStep(lane, state);
    const references = newReferences();
    if (journal.messages.length === 0) recordSecrets(lane, state, secrets);
    const system = [await buildSystem(lane, { step, agent, references }), secretsNote(secrets)].join('\n\n').trimEnd();
    const notes = openingNotes(journal, fresh);
    const opening = await buildOpening(lane, step, state, { notes, shared: references });
    const script = agent.script ? await readRunFile(deps, run, agent.script.path) : null;
    // Create the clock last, since it has to be closed from here on.
    const clock = activeClock(lane, step, agent);
    const saved = (path: string) => readSaved(lane, state, path);
    const openFolder = folder.folder;
    const emit = stepReporter(lane, state);
    const context = toolContext(lane, step, agent, { seen, saved, secrets, openFolder, emit, signal: clock.signal });
    const close = async () => {
      clock.close();
      await lane.servers.leaveStep();
      await secrets.close();
    };
    const catalogue = await toolsOf(lane, context).catch(async (error: unknown) => {
      await close();
      throw error;
    });
    return {
      lane,
      step,
      state,
      agent,
      models,
      ...catalogue,
      ...folder,
      context,
      journal: new Map(journal.calls.map((call) => [journalKey(call.turn, call.call), call])),
      cut: new Set(journal.calls.filter(({ kind, state }) => kind === 'model' && state === 'started')),
      purpose: 'turn',
      nextSeq: (journal.messages.at(-1)?.seq ?? -1) + 1,
      ...readTranscript(journal.messages),
      system,
      opening,
      script: script ? new TextDecoder().decode(script.content) : null,
      seen,
      ...clock,
      close,
    };
  } catch (error) {
    // A model that is not configured, or a tool that this version does not support, fails the step with that sentence.
    if (error instanceof Refusal && error.kind === 'refused') throw new StepFailure(error.message);
    throw error;
  } finally {
    clearTimeout(late);
  }
}

async function toolsOf(lane: Lane, context: ToolContext): Promise<Catalogue> {
  return listTools([...(await assembleTools(lane.deps, context)), ...engineTools(lane, context)]);
}

/** The built-in tools that the engine itself implements. */
function engineTools({ plan }: Lane, { agent, step }: ToolContext): AgentTool[] {
  const asks = agent.builtins.includes('ask_human') ? askHuman : null;
  const tools = [asks, runAgentTool(agent, plan.agents)].filter((tool) => tool !== null);
  return tools.filter(({ ref }) => step.tools?.includes(ref) ?? true);
}

/** A step that this advance started has no rows yet. */
function journalOf({ deps, run }: Lane, state: StepState): Promise<StepJournal> | StepJournal {
  if (state.isNew) return NO_JOURNAL;
  return readStepJournal(deps.db, run.id, { ...state, step: state.id, attempt: state.attempts });
}

function folderOf(lane: Lane): Pick<Session, 'folder' | 'hasFolder'> {
  let opened: Promise<LaneFolder> | undefined;
  return {
    folder: () => {
      opened ??= openLane(lane.deps, lane.run, lane.name);
      return opened;
    },
    hasFolder: () => opened !== undefined,
  };
}

function agentOf(lane: Lane, step: StepPlan): AgentPlan {
  const agent = step.agent === undefined ? undefined : lane.plan.agents[step.agent];
  if (!agent) throw new StepFailure(`there is no agent ${step.agent ?? ''} in the plan of this run`);
  return agent;
}

function addSeen(seen: Map<string, string>, files: Json): void {
  if (!Array.isArray(files)) return;
  for (const file of files) if (isRecord(file)) seen.set(String(file.path), String(file.sha));
}

/** What a new attempt reads about an acting call of an earlier attempt. */
const ACTED = {
  done: (call) => `An earlier attempt at this step already did: ${call}`,
  failed: (call) =>
    `An earlier attempt at this step tried this, which ended with an error and may have partly run: ${call}`,
  unknown: (call) =>
    `An earlier attempt at this step was interrupted during this, so it is unknown whether it was done: ${call} Find out before you do it again.`,
} satisfies Record<ActedCall['end'], (call: string) => string>;

function openingNotes(journal: StepJournal, fresh: boolean): string[] {
  const notes = journal.acted.map(({ call, end }) => ACTED[end](call));
  if (fresh && journal.messages.length > 0)
    notes.push('The work folder was created again: scratch files of this step are gone.');
  return notes;
}

function toolContext(
  lane: Lane,
  step: StepPlan,
  agent: AgentPlan,
  own: Pick<ToolContext, 'seen' | 'saved' | 'secrets' | 'openFolder' | 'emit' | 'signal'>,
): ToolContext {
  const results = new Map<string, string>();
  for (const state of lane.steps.values()) {
    const { result } = shownWork(state);
    if (state.item === 0 && result) results.set(state.id, result);
  }
  return {
    run: lane.run,
    lane: lane.name,
    plan: lane.plan,
    step,
    agent,
    results,
    oldIds: new Map(leavesOf(lane.plan).flatMap(({ id, oldId }) => (oldId === undefined ? [] : [[oldId, id]]))),
    folder: lanePlace(lane.deps, lane.run.id, lane.name),
    servers: lane.servers,
    guard: lane.writer.guard,
    cannedResults: cannedAnswersOf(lane),
    ...own,
  };
}

/** The step's active time: the smallest of its own timeout, the agent's, and what the run has left. */
function activeClock(lane: Lane, step: StepPlan, agent: AgentPlan) {
  const now = lane.deps.clock.now();
  const since = lane.writer.memory.since ?? now;
  const parks = step.gate !== undefined || step.wait !== undefined;
  const own = [parks ? undefined : step.timeoutMs, agent.timeoutMs].filter((ms) => ms !== undefined);
  const endsAt = own.length === 0 ? null : since + Math.min(...own);
  const ends = [endsAt, deadlineOf(lane)].filter((end) => end !== null);
  // A limit beyond 24 days gets no timer here: an advance closer to it sets one.
  const { signal, isOver, end } = startDeadline(Math.min(...ends) - now, lane.signal);
  return { signal, endsAt, timedOut: isOver, close: end };
}

/**
 * Continues the step where an earlier advance left it. Time in a park, or without a worker, does not count against its
 * timeout, and a wait for a provider does; so call this before its clock is set. A step whose tool calls or budget were
 * approved is running again.
 */
function resumeStep(lane: Lane, state: StepState): void {
  const { writer } = lane;
  const now = lane.deps.clock.now();
  const { since = now, at = since, notBefore = 0 } = writer.memory;
  const awayMs = Math.max(0, now - Math.max(at, since, notBefore));
  writer.memory = { ...writer.memory, since: since + awayMs, at: now };
  if (writer.state !== 'parked') return;
  const marks = [`tool.${state.attempts}.`, 'budget.'].map((mark) => parkId(lane, state, mark));
  const gates = [...lane.parks.values()].filter((park) => marks.some((mark) => park.id.startsWith(mark)));
  if (gates.length === 0 || gates.some((park) => !park.decided)) return;
  writer.state = 'running';
  state.status = 'running';
  writeStep(lane, state);
}
