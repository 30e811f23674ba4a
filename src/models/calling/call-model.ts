import type { Clock } from '../../shared/clock.js';
import type { Log } from '../../shared/log.js';
import type { ModelEntry } from '../catalogue/entry.js';
import { knownContext } from '../catalogue/to-resolved.js';
import { ModelError, type ModelReply, type ModelRequest } from '../contract.js';
import { BrokenOff } from '../failing/broken-off.js';
import { toModelError } from '../failing/to-model-error.js';
import { believeUsage } from '../pricing/believe-usage.js';
import { costOf } from '../pricing/cost-of.js';
import { PROVIDERS } from '../providers/index.js';
import type { ProviderReply } from '../providers/provider.js';
import { answerLimits } from '../wire/limits.js';
import { MENDERS } from '../wire/mend/index.js';
import type { Circuits } from './circuit.js';
import { createSilence } from './silence.js';
import { watchCall } from './watched-fetch.js';

interface Caller {
  readonly log: Log;
  readonly clock: Clock;
  readonly circuits: Circuits;
  readonly idleMs: number;
  readonly totalMs: number;
}

/**
 * Makes one call to one model, guarded by its provider's circuit, watched for silence, with its cost. Throws ModelError
 * only.
 */
export async function callModel(caller: Caller, entry: ModelEntry, request: ModelRequest): Promise<ModelReply> {
  const quiet = { ...request, onDelta: quietDelta(caller.log, request) };
  const attempt = () => attemptCall(caller, entry, quiet);
  const reply = PROVIDERS[entry.provider].remote
    ? await caller.circuits.guard(endpointName(entry), attempt)
    : await attempt();
  const { text, calls, finish, opaque } = reply;
  const believed = believeUsage(request, reply);
  return {
    text,
    calls,
    finish,
    usage: believed.usage,
    estimated: believed.estimated,
    ...costOf(entry, believed, reply.costUsd),
    ...(opaque === undefined ? {} : { opaque }),
  };
}

async function attemptCall(caller: Caller, entry: ModelEntry, request: ModelRequest): Promise<ProviderReply> {
  const provider = PROVIDERS[entry.provider];
  const silence = createSilence({
    idleMs: entry.idleMs ?? caller.idleMs,
    totalMs: entry.totalMs ?? caller.totalMs,
  });
  const limits = answerLimits(knownContext(entry));
  const key = entry.key ?? '';
  try {
    request.signal.throwIfAborted();
    if (provider.remote) silence.noteContent();
    return await provider.call(request, {
      baseUrl: (entry.baseUrl ?? provider.baseUrl ?? '').replace(/\/+$/, ''),
      key,
      signal: watchCall(AbortSignal.any([request.signal, silence.signal]), {
        silence,
        maxBytes: limits.wire,
        mend: MENDERS[entry.provider],
      }),
      maxContentBytes: limits.content,
    });
  } catch (error) {
    const broken = error instanceof BrokenOff ? error : null;
    const modelError = toModelError(broken === null ? error : broken.cause, {
      provider: endpointName(entry),
      key,
      nowMs: caller.clock.now(),
      stopped: request.signal.aborted,
      givenUp: silence.why(),
    });
    throw broken === null ? modelError : withCut(modelError, entry, { request, broken });
  } finally {
    silence.end();
  }
}

/** The provider bills the input and the part of the answer that it sent, so the call is booked the same way. */
function withCut(
  error: ModelError,
  entry: ModelEntry,
  { request, broken: { said, usage } }: { readonly request: ModelRequest; readonly broken: BrokenOff },
): ModelError {
  const believed = believeUsage(request, { text: said, calls: [], usage });
  const cut = { usage: believed.usage, ...costOf(entry, believed, null) };
  return new ModelError(error.kind, error.message, { ...error, cut });
}

/** A failing listener must not lose an answer that was paid for. */
function quietDelta(log: Log, { onDelta }: ModelRequest): (text: string) => void {
  return (text) => {
    try {
      onDelta?.(text);
    } catch (error) {
      log.warn({ err: error }, 'a listener of a model stream failed');
    }
  };
}

/** The display name of an endpoint: `openai`, or `openai-compatible at http://host:port/path`, without credentials. */
function endpointName(entry: ModelEntry): string {
  if (entry.baseUrl === null || entry.baseUrl === PROVIDERS[entry.provider].baseUrl) return entry.provider;
  if (!URL.canParse(entry.baseUrl)) return entry.provider;
  const { origin, pathname } = new URL(entry.baseUrl);
  return `${entry.provider} at ${origin}${pathname.replace(/\/+$/, '')}`;
}
