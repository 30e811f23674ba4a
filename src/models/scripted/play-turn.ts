import { sleep } from '../../shared/deadline.js';
import { toJson } from '../../shared/exact-json.js';
import { errorMessage } from '../../shared/refusal.js';
import { type ChatMessage, ModelError, type ModelRequest, type ScriptPlace } from '../contract.js';
import type { ProviderReply } from '../providers/provider.js';
import { exampleOf } from './example-of.js';
import { fillArgs, fillText, instructionLine } from './fill.js';
import { parseScript, type ScriptTurn } from './script-file.js';

/** Plays the turn that the agent's script has for this place, streamed word by word. */
export async function playTurn(request: ModelRequest, signal: AbortSignal): Promise<ProviderReply> {
  const turn = turnFor(request);
  const text = turn.error === undefined ? fillText(turn.text ?? '', request) : '';
  await speak(text, turn.delayMs ?? 0, { signal, say: request.onDelta });
  if (turn.error !== undefined)
    throw new ModelError(turn.error, turn.text ?? `the script says \`error: ${turn.error}\``);
  const calls = (turn.calls ?? []).map(({ tool, args }, index) => ({
    id: `${request.idempotencyKey}-${index + 1}`,
    name: tool,
    args: fillArgs(args, request),
  }));
  return {
    text,
    calls,
    finish: calls.length > 0 ? 'tool-calls' : 'stop',
    usage: {
      input: turn.usage?.input,
      output: turn.usage?.output,
      cached: turn.usage?.cached,
      cacheWrite: undefined,
    },
    costUsd: null,
  };
}

function turnFor(request: ModelRequest): ScriptTurn {
  const { script } = request;
  if (script?.yaml == null || script.purpose === 'summary') return unscriptedTurn(request);
  const path = `agents/${script.agent}/script.yaml`;
  const turn = pickTurn(readScript(script.yaml, path), script, request.messages);
  if (turn) return turn;
  const place = `step ${script.step}, round ${script.round}, turn ${script.turn + 1}`;
  throw new ModelError('refused', `${path} has no turn for ${place}: add one, or one whose \`when\` matches it`);
}

function readScript(yaml: string, path: string): ScriptTurn[] {
  try {
    return parseScript(yaml, path);
  } catch (error) {
    throw new ModelError('refused', errorMessage(error));
  }
}

interface Listener {
  readonly signal: AbortSignal;
  readonly say: ModelRequest['onDelta'];
}

/** Streams a text word by word, over `delayMs` in all. */
async function speak(text: string, delayMs: number, { signal, say }: Listener): Promise<void> {
  const words = text.match(/\s*\S+\s*$|\s*\S+/g) ?? [text];
  const startedMs = performance.now();
  for (const [index, word] of words.entries()) {
    // Relative to the start, so that the delays of timers do not add up.
    const dueMs = startedMs + (delayMs * (index + 1)) / words.length - performance.now();
    if (dueMs > 1) await sleep(dueMs, signal);
    signal.throwIfAborted();
    if (word !== '') say?.(word);
  }
}

/**
 * The answer of an agent without a script: a text that says that no model wrote it, or minimal JSON that fits the
 * schema.
 */
function unscriptedTurn(request: ModelRequest): ScriptTurn {
  const example = request.schema === undefined ? undefined : exampleOf(request.schema);
  const text = example === undefined ? plainText(request) : toJson(example);
  return { text, line: 0 };
}

function plainText(request: ModelRequest): string {
  if (request.script?.purpose === 'summary') {
    return '[scripted] No model wrote this summary. The older turns are left out; their results are kept.';
  }
  const { agent, step } = request.script ?? { agent: 'this agent', step: 'this step' };
  return `[scripted] No model wrote this. Step ${step} asked ${agent}: ${instructionLine(request)}`;
}

/** The turn for a place: the first whose `when` matches, else the n-th of those without one. */
function pickTurn(
  turns: readonly ScriptTurn[],
  place: ScriptPlace,
  messages: readonly ChatMessage[],
): ScriptTurn | undefined {
  const newest = newestInput(messages);
  const matching = turns.find(({ when }) => when !== undefined && matches(when, place, newest));
  return matching ?? turns.filter(({ when }) => when === undefined)[place.turn];
}

function matches(when: NonNullable<ScriptTurn['when']>, place: ScriptPlace, newest: string): boolean {
  const { step = place.step, round = place.round, turn = place.turn + 1, attempt, contains = '' } = when;
  return (
    (step === place.step || step === place.oldStep) &&
    round === place.round &&
    turn === place.turn + 1 &&
    (attempt === undefined || attempt === (place.attempt ?? 1)) &&
    newest.includes(contains)
  );
}

/** The model's newest input: from a person or from tools. */
function newestInput(messages: readonly ChatMessage[]): string {
  const last = messages.findLast(({ role }) => role !== 'assistant');
  if (last?.role === 'user') return last.text;
  return last?.role === 'tool' ? last.results.map(({ text }) => text).join('\n') : '';
}
