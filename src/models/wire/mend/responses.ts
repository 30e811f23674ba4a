import { toJson } from '../../../shared/exact-json.js';
import { isRecord } from '../../../shared/json.js';
import { usageOf } from './fields.js';
import type { Mender } from './mender.js';

/** An event of OpenAI's Responses API. */
export const mendResponses: Mender = (event) => {
  const { type, response, item, error } = event;
  if (typeof type !== 'string') return error === undefined || error === null ? [] : [event];
  if (isRecord(item) && isRecord(item.arguments))
    return [{ ...event, item: { ...item, arguments: toJson(item.arguments) } }];
  if (!isRecord(response) || response.usage === undefined) return [event];
  const usage = usageOf(response.usage);
  return [{ ...event, response: { ...response, usage: usage && { input_tokens: 0, output_tokens: 0, ...usage } } }];
};
