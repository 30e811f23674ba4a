import type { ModelRequest, ModelUsage } from '../contract.js';
import type { ProviderReply } from '../providers/provider.js';

export interface BelievedUsage {
  readonly usage: ModelUsage;
  readonly cacheWrite: number;
  readonly estimated: boolean;
}

/**
 * The usage to book. Counts that are missing, negative, broken or impossible (no input, or an answer without output
 * tokens) are estimated from lengths and flagged. Cached tokens never exceed the input that they are part of.
 */
export function believeUsage(
  request: ModelRequest,
  reply: Pick<ProviderReply, 'text' | 'thought' | 'calls' | 'usage'>,
): BelievedUsage {
  const args = reply.calls.map((call) => call.name + (call.raw ?? JSON.stringify(call.args)));
  const said = [reply.thought ?? '', reply.text, ...args].join('');
  const input = count(reply.usage.input) || null;
  const output = count(reply.usage.output);
  const outputIsTrue = output !== null && (output > 0 || said === '');
  const usedInput = input ?? inputTokens(request);
  const cached = Math.min(count(reply.usage.cached) ?? 0, usedInput);
  return {
    usage: { input: usedInput, output: outputIsTrue ? output : roughTokens(said), cached },
    cacheWrite: Math.min(count(reply.usage.cacheWrite) ?? 0, usedInput - cached),
    estimated: input === null || !outputIsTrue,
  };
}

/** Estimated input tokens of a request, from its length. */
function inputTokens({ system, messages, tools }: Pick<ModelRequest, 'system' | 'messages' | 'tools'>): number {
  return roughTokens(system + JSON.stringify(messages) + (tools.length === 0 ? '' : JSON.stringify(tools)));
}

/** Maximum credible count: a broken counter must not empty a budget. */
const MOST = 10_000_000;

function count(value: number | undefined): number | null {
  return value !== undefined && value >= 0 && value <= MOST ? Math.round(value) : null;
}

/** Estimates the tokens of a text: four characters each. Used where a provider reports no counts. */
function roughTokens(text: string): number {
  return Math.ceil(text.length / 4);
}
