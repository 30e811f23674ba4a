import type { Json } from '../shared/json.js';
import type { Plan } from './model.js';
import { validate } from './schema/index.js';

/** The faults of a run's input by the flow's schema; empty when it is valid or the flow has no schema. */
export function inputFaults({ input: schema }: Pick<Plan, 'input'>, input: Json): readonly string[] {
  return schema ? validate(schema, input) : [];
}
