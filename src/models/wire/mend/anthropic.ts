import { toJson } from '../../../shared/exact-json.js';
import { isRecord } from '../../../shared/json.js';
import { recordOf, usageOf } from './fields.js';
import type { Mender } from './mender.js';

const KNOWN: ReadonlySet<unknown> = new Set([
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'error',
]);

/** An event of Anthropic's Messages API. */
export const mendAnthropic: Mender = (event) => {
  const { type, error, message, content_block: block } = event;
  if (type === undefined && error !== undefined && error !== null) return [{ ...event, type: 'error' }];
  if (!KNOWN.has(type)) return [];
  if (type === 'message_start') {
    const started = recordOf(message);
    return [{ ...event, message: { ...started, content: [], usage: { input_tokens: 0, ...usageOf(started.usage) } } }];
  }
  if (type === 'message_delta') return [{ ...event, usage: { output_tokens: 0, ...usageOf(event.usage) } }];
  if (type === 'content_block_start' && isRecord(block) && isRecord(block.input)) return withInput(event, block);
  return [event];
};

/** Arguments may be complete in the block's start. As text they keep each digit of their numbers. */
function withInput(event: object, block: Record<string, unknown>): object[] {
  const input = recordOf(block.input);
  if (block.type !== 'tool_use' || Object.keys(input).length === 0) return [event];
  const start = { ...event, content_block: { ...block, input: {} } };
  const delta = { type: 'input_json_delta', partial_json: toJson(input) };
  return [start, { type: 'content_block_delta', index: recordOf(event).index, delta }];
}
