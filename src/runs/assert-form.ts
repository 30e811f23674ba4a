import type { Json, JsonObject } from '../shared/json.js';
import { isRecord } from '../shared/json.js';
import { validate } from '../workspace/index.js';
import { refuseFaults } from './faults.js';

/**
 * Refuses a form that the gate does not ask for or that does not fit it. An approval without one is as an empty one:
 * it is refused where a field is required. A rejection may leave it out.
 */
export function assertForm(schema: Json, decision: 'approve' | 'reject', form: Json | undefined): void {
  if (!isRecord(schema)) {
    if (form !== undefined) refuseFaults([{ path: 'form', message: 'this gate has no form; leave it out' }]);
    return;
  }
  if (form === undefined && decision === 'reject') return;
  const faults = validate(schema as JsonObject, form ?? {});
  refuseFaults(faults.map((message) => ({ path: 'form', message })));
}
