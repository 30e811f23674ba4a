import type { Json } from '../shared/json.js';
import type { Plan } from './model.js';
import { validate } from './schema/index.js';

/** What is wrong with a run's input, by what its flow declares; empty when it fits or the flow declares none. */
export function inputFaults({ input: schema }: Pick<Plan, 'input'>, input: Json): readonly string[] {
  return schema ? validate(schema, input) : [];
}
