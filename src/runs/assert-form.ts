import { validate } from '../format/index.js';
import { isRecord, type Json, type JsonObject } from '../shared/json.js';
import { refuseFaults } from './faults.js';

/**
 * Refuses a form that the gate does not ask for or that does not match its schema. An approval without a form counts as
 * an empty form, so required fields are refused. A rejection may leave the form out.
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
