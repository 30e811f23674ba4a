import type { Readable } from 'node:stream';
import { alignRefs, listStoredRefs } from '../../content/index.js';
import type { Deps } from '../../deps.js';
import {
  discardPack,
  MAIN,
  openQuarantine,
  type PushRequest,
  type Quarantine,
  type RefCommand,
  type Repository,
  readPushRequest,
  receivePack,
  WireFault,
} from '../../git/index.js';
import { failpoint } from '../../shared/failpoint.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import { StorageUnavailable, toStorageError } from '../../shared/storage-unavailable.js';
import type { Remote } from '../remote.js';
import { requestSlots } from '../request-slots.js';
import { checkObjects } from './check-objects.js';
import type { PushContext } from './push-context.js';
import { LIBRARY_HAS_ONLY_MAIN } from './push-library-main.js';
import { createPushPack, type PushPack } from './push-pack.js';
import { type Answer, createAnswer, type Outcome, writeReport } from './report.js';
import { refuseTogether, updateAtomic } from './update-atomic.js';
import { updateRef } from './update-ref.js';

const MAX_REFS = 1_000;

const MAX_NAME_BYTES = 200;

/** What `git check-ref-format` refuses, and characters that terminals or other systems display differently. */
const REFUSED = /[\p{Cc}\p{Cf}\p{Zs}\p{Surrogate}\u2028\u2029~^:?*[\\]|\.\.|@\{|\/\/|\/$|\.$/u;

/**
 * How many pushes one process receives at once, each with a git process for untrusted input. One account leaves one
 * slot to others.
 */
const slots = requestSlots({ permits: 4, each: 3, waiting: 40 });

interface PushInput {
  readonly body: Readable;
  readonly signal: AbortSignal;
}

/**
 * Receives a push. git checks its objects in a quarantine; then the pack goes to the object store and each ref is
 * updated by the rules of its kind, or all refs together when the push is atomic. Returns the stream that the client
 * reads: messages as they come, then the report of each ref. Refuses only before anything is read.
 */
export async function receivePush(deps: Deps, remote: Remote, { body, signal }: PushInput): Promise<Readable> {
  const release = await slots.acquire(remote.caller.tenant);
  let quarantine: Quarantine | undefined;
  const finish = async (): Promise<void> => {
    await quarantine?.remove().catch((err: unknown) => deps.log.warn({ err }, 'failed to remove a quarantine'));
    release();
  };
  try {
    const request = await readPushRequest(body);
    try {
      const repository = await alignRefs(deps, remote.id);
      if (!repository) throw notFound('repository');
      quarantine = await openQuarantine(repository);
      const { inside, fault } = await takeObjects(quarantine, request, signal);
      failpoint('push-received');
      const answer = createAnswer(request.capabilities.has('side-band-64k'));
      // The client has sent everything, so from here on it gets a report in every case.
      answerPush(deps, { remote, repository, quarantine, inside, request, answer, fault, finish })
        .catch((err: unknown) => answer.stream.destroy(new Error(brokenOff(deps, remote, err))))
        .finally(finish);
      return answer.stream;
    } catch (error) {
      if (!(toStorageError(error) instanceof StorageUnavailable)) throw error;
      return await refuseAll(request, brokenOff(deps, remote, error), finish);
    }
  } catch (error) {
    await finish();
    if (error instanceof WireFault) throw new Refusal('malformed', error.message);
    throw error;
  }
}

/** Refuses every ref in a report, since a git client shows nothing else of the answer to a push. */
async function refuseAll(request: PushRequest, reason: string, finish: () => Promise<void>): Promise<Readable> {
  if (request.pack) await discardPack(request.pack);
  await finish();
  const answer = createAnswer(request.capabilities.has('side-band-64k'));
  answer.end(
    reportOf(
      request,
      request.commands.map((command) => [command, { kind: 'no', reason }]),
      null,
    ),
  );
  return answer.stream;
}

/** The report with the outcome of each ref; null when the client wants none. */
function reportOf(
  { capabilities, commands }: PushRequest,
  outcomes: readonly (readonly [RefCommand, Outcome])[],
  fault: string | null,
): Buffer | null {
  const wants = capabilities.has('report-status') || capabilities.has('report-status-v2');
  if (!wants || commands.length === 0) return null;
  return writeReport(outcomes, { unpack: fault, v2: capabilities.has('report-status-v2') });
}

/** The repository with the pack's objects; `fault` is null when the pack was accepted, or none was sent. */
async function takeObjects(
  quarantine: Quarantine,
  { pack, fault }: PushRequest,
  signal: AbortSignal,
): Promise<Pick<Push, 'inside' | 'fault'>> {
  const { inside } = quarantine;
  if (pack === null) return { inside, fault };
  try {
    if (fault !== null) {
      await discardPack(pack);
      return { inside, fault };
    }
    return { inside: await receivePack(quarantine, pack, { signal }), fault: null };
  } catch (error) {
    if (!(error instanceof WireFault)) throw error;
    return { inside, fault: error.message };
  }
}

interface Push {
  readonly remote: Remote;
  readonly repository: Repository;
  readonly quarantine: Quarantine;
  /** The repository with the push's objects. */
  readonly inside: Repository;
  readonly request: PushRequest;
  readonly answer: Answer;
  readonly fault: string | null;
  /** Removes the quarantine and releases the slot. */
  readonly finish: () => Promise<void>;
}

async function answerPush(deps: Deps, push: Push): Promise<void> {
  const { request, answer, fault } = push;
  const { commands } = request;
  const later: (() => Promise<void>)[] = [];
  const pack = createPushPack(deps, push);
  let outcomes: (readonly [RefCommand, Outcome])[];
  try {
    outcomes = await updateRefs(deps, push, { pack, later });
  } catch (err) {
    const reason = brokenOff(deps, push.remote, err);
    outcomes = commands.map((command) => [command, { kind: 'no', reason }]);
  }
  const tidied = tidy(deps, push, pack);
  // Only this client waits for the evals' results, for all refs in parallel.
  await Promise.all(later.map((work) => work()));
  answer.end(reportOf(request, outcomes, fault));
  await tidied;
}

/** Cleans up while the client waits for nothing: releases the pack, and moves the refs on disk to those of the rows. */
async function tidy(deps: Deps, { remote, finish }: Push, pack: PushPack): Promise<void> {
  const warn = (what: string) => (err: unknown) => deps.log.warn({ err, workspaceId: remote.id }, what);
  await pack.release().catch(warn('failed to release the pack of a push'));
  await finish();
  await alignRefs(deps, remote.id).catch(warn('failed to move the refs of a push, will retry'));
}

async function updateRefs(
  deps: Deps,
  push: Push,
  { pack, later }: Pick<PushContext, 'pack' | 'later'>,
): Promise<(readonly [RefCommand, Outcome])[]> {
  const { remote, inside, request, answer, fault } = push;
  const { commands } = request;
  if (fault !== null) return commands.map((command) => [command, { kind: 'no', reason: 'the pack was not accepted' }]);
  const refs = new Map((await listStoredRefs(deps.db, remote.id)).map(({ name, oid }) => [name, oid]));
  // Reserves the name of main even before the first deploy: no other ref may have a name below it.
  const faults = new Map(refFaults(commands, new Map([...refs, [MAIN, '']])));
  const left = commands.filter((command) => !faults.has(command));
  let checked: ReturnType<typeof checkObjects> | undefined;
  const faultOf = async (command: RefCommand) => {
    checked ??= checkObjects(inside, left);
    return (await checked).get(command) ?? null;
  };
  const context: PushContext = { remote, inside, pack, say: answer.say, later, faultOf };
  // A push of one ref is atomic by itself.
  if (request.capabilities.has('atomic') && commands.length > 1)
    return updateTogether(deps, context, { commands, faults });
  const outcomes: (readonly [RefCommand, Outcome])[] = [];
  for (const command of commands) {
    const reason = faults.get(command);
    outcomes.push([command, reason === undefined ? await tryRef(deps, context, command) : { kind: 'no', reason }]);
  }
  return outcomes;
}

/** All refs of an atomic push, or none. */
async function updateTogether(
  deps: Deps,
  context: PushContext,
  { commands, faults }: { readonly commands: readonly RefCommand[]; readonly faults: ReadonlyMap<RefCommand, string> },
): Promise<(readonly [RefCommand, Outcome])[]> {
  const refused = new Map<RefCommand, Outcome>();
  for (const command of commands) {
    const reason = faults.get(command);
    if (reason !== undefined) refused.set(command, { kind: 'no', reason });
    else if (context.remote.isLibrary && command.ref !== MAIN) refused.set(command, LIBRARY_HAS_ONLY_MAIN);
  }
  return refused.size > 0 ? refuseTogether(commands, refused) : updateAtomic(deps, context, commands);
}

/** A failure at one ref does not undo the refs before it. */
async function tryRef(deps: Deps, context: PushContext, command: RefCommand): Promise<Outcome> {
  try {
    return await updateRef(deps, context, command);
  } catch (err) {
    return { kind: 'no', reason: brokenOff(deps, context.remote, err) };
  }
}

/** The reason for the client, with details only for a transient failure. */
function brokenOff({ log }: Pick<Deps, 'log'>, remote: Remote, thrown: unknown): string {
  const err = toStorageError(thrown);
  log.error({ err, workspaceId: remote.id }, 'push failed');
  return err instanceof Refusal && err.kind === 'unavailable'
    ? err.message.replace('try again', 'push again')
    : 'internal error; push again';
}

/** The faults of these updates by the rules for all refs. A command that is missing in the result has none. */
function refFaults(
  commands: readonly RefCommand[],
  existing: ReadonlyMap<string, string>,
): ReadonlyMap<RefCommand, string> {
  const faults = new Map<RefCommand, string>();
  const seen = new Set<string>();
  const after = new Set(existing.keys());
  for (const command of commands) {
    const fault = seen.has(command.ref) ? 'is given twice' : (nameFault(command) ?? roomFault(command, after));
    seen.add(command.ref);
    if (fault !== null) faults.set(command, fault);
    else if (command.new === null) after.delete(command.ref);
    else after.add(command.ref);
  }
  return faults;
}

function nameFault({ ref, old, new: next }: RefCommand): string | null {
  if (!/^refs\/(heads|tags)\/./.test(ref)) return 'only branches and tags can be pushed';
  if (Buffer.byteLength(ref) > MAX_NAME_BYTES) return `its name is over ${MAX_NAME_BYTES} bytes`;
  const parts = ref.split('/');
  if (
    ref === 'refs/heads/HEAD' ||
    REFUSED.test(ref) ||
    parts.some((part) => part === '' || part.startsWith('.') || part.endsWith('.lock'))
  )
    return 'its name is invalid in git';
  if (ref.normalize('NFC') !== ref) return 'its name is not in Unicode form NFC';
  if (old === null && next === null) return 'the ref does not exist';
  if (ref === MAIN && next === null) return 'main is what is live: it cannot be deleted';
  return null;
}

/** A ref name cannot be a folder of another one, since refs are files. */
function roomFault({ ref, new: next }: RefCommand, refs: ReadonlySet<string>): string | null {
  if (next === null || refs.has(ref)) return null;
  if (refs.size >= MAX_REFS) return `there are ${MAX_REFS} refs, which is the limit: delete some`;
  for (const other of refs) {
    if (other.startsWith(`${ref}/`) || ref.startsWith(`${other}/`)) return `there is ${other} in its way`;
  }
  return null;
}
