import type { Readable } from 'node:stream';
import type { Deps } from '../../deps.js';
import {
  MAIN,
  openQuarantine,
  type PushRequest,
  type Quarantine,
  type RefCommand,
  type Repository,
  readPushRequest,
  takePushedPack,
  WireFault,
} from '../../git/index.js';
import { failpoint } from '../../shared/failpoint.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import { createSlots } from '../../shared/slots.js';
import { alignRefs, listStoredRefs } from '../../workspaces/index.js';
import type { Remote } from '../remote.js';
import { checkObjects } from './check-objects.js';
import type { PushContext } from './push-context.js';
import { refFaults } from './ref-rules.js';
import { type Outcome, writeReport } from './report.js';
import { type Answer, createAnswer } from './sideband.js';
import { createPackTaker, type PackTaker } from './take-once.js';
import { updateRef } from './update-ref.js';

/** As many pushes one process takes in at once: each has a git that reads what a stranger sent. */
const slots = createSlots(4, 40);

export interface PushInput {
  readonly body: Readable;
  readonly signal: AbortSignal;
}

/**
 * Takes a push: its objects into a quarantine, checked by git; each ref by itself, by the rules of what it is; then the
 * pack into the object store and the refs as rows. Answers the stream that git reads: words for the person as they come,
 * and the report of each ref. Refuses only before anything is read.
 */
export async function receivePush(deps: Deps, remote: Remote, { body, signal }: PushInput): Promise<Readable> {
  const release = await slots.take();
  let quarantine: Quarantine | undefined;
  const finish = async (): Promise<void> => {
    await quarantine?.remove().catch((err: unknown) => deps.log.warn({ err }, 'a quarantine stayed'));
    release();
  };
  try {
    const repository = await alignRefs(deps, remote.id);
    if (!repository) throw notFound('repository');
    quarantine = await openQuarantine(repository);
    const request = await readPushRequest(body);
    const fault = await takeObjects(quarantine, request, signal);
    failpoint('push-received');
    const answer = createAnswer(request.capabilities.has('side-band-64k'));
    // The client has sent all; from here on it is told, whatever happens.
    void answerPush(deps, { remote, repository, quarantine, request, answer, fault, finish }).finally(finish);
    return answer.stream;
  } catch (error) {
    await finish();
    if (error instanceof WireFault) throw new Refusal('malformed', error.message);
    throw error;
  }
}

/** What is wrong with the pack; null when it was taken, or none came. */
async function takeObjects(quarantine: Quarantine, { pack }: PushRequest, signal: AbortSignal): Promise<string | null> {
  if (pack === null) return null;
  try {
    await takePushedPack(quarantine, pack, { signal });
    return null;
  } catch (error) {
    if (!(error instanceof WireFault)) throw error;
    // What is left of the body is read to its end, or the client would never come to the answer.
    for await (const _ of pack) void _;
    return error.message;
  }
}

interface Push {
  readonly remote: Remote;
  readonly repository: Repository;
  readonly quarantine: Quarantine;
  readonly request: PushRequest;
  readonly answer: Answer;
  readonly fault: string | null;
  /** Gives its place in line to the next. */
  readonly finish: () => Promise<void>;
}

async function answerPush(deps: Deps, push: Push): Promise<void> {
  const { request, answer, fault } = push;
  const { capabilities, commands } = request;
  const later: (() => Promise<void>)[] = [];
  const pack = createPackTaker(deps, push);
  let outcomes: (readonly [RefCommand, Outcome])[];
  try {
    outcomes = await updateRefs(deps, push, { pack, later });
  } catch (err) {
    deps.log.error({ err, workspaceId: push.remote.id }, 'a push broke off');
    outcomes = commands.map((command) => [command, { kind: 'no', reason: 'internal error; push again' }]);
  }
  const tidied = tidy(deps, push, pack);
  // What evals say is waited for by this client alone, and for all of its refs at once.
  await Promise.all(later.map((work) => work()));
  const wants = capabilities.has('report-status') || capabilities.has('report-status-v2');
  const report = writeReport(outcomes, { unpack: fault, v2: capabilities.has('report-status-v2') });
  answer.end(wants && commands.length > 0 ? report : null);
  await tidied;
}

/** What no client waits for. Refs on the disk follow the rows, so that a git that looks there sees them. */
async function tidy(deps: Deps, { remote, finish }: Push, pack: PackTaker): Promise<void> {
  const warn = (what: string) => (err: unknown) => deps.log.warn({ err, workspaceId: remote.id }, what);
  await pack.settle().catch(warn('the pack of a push was not given up'));
  await finish();
  await alignRefs(deps, remote.id).catch(warn('the refs of a push could not be moved yet'));
}

async function updateRefs(
  deps: Deps,
  push: Push,
  { pack, later }: Pick<PushContext, 'pack' | 'later'>,
): Promise<(readonly [RefCommand, Outcome])[]> {
  const { remote, quarantine, request, answer, fault } = push;
  const { commands } = request;
  if (fault !== null) return commands.map((command) => [command, { kind: 'no', reason: 'the pack was not taken' }]);
  const refs = new Map((await listStoredRefs(deps.db, remote.id)).map(({ name, oid }) => [name, oid]));
  // Main is there, or comes: nothing else may have a name below it.
  const faults = new Map(refFaults(commands, new Map([...refs, [MAIN, '']])));
  const left = commands.filter((command) => !faults.has(command));
  for (const [command, reason] of await checkObjects(quarantine.inside, left)) faults.set(command, reason);
  const context: PushContext = { remote, inside: quarantine.inside, pack, say: answer.say, later };
  const outcomes: (readonly [RefCommand, Outcome])[] = [];
  for (const command of commands) {
    const reason = faults.get(command);
    outcomes.push([command, reason === undefined ? await tryRef(deps, context, command) : { kind: 'no', reason }]);
  }
  return outcomes;
}

/** What breaks off over one ref says nothing of those before it, which stand. */
async function tryRef(deps: Deps, context: PushContext, command: RefCommand): Promise<Outcome> {
  try {
    return await updateRef(deps, context, command);
  } catch (err) {
    deps.log.error({ err, workspaceId: context.remote.id }, 'a push broke off');
    return { kind: 'no', reason: 'internal error; push again' };
  }
}
