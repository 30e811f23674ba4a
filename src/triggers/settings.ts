import type { Plan } from '../format/index.js';
import { asSignatureKind, type SignatureKind } from './signatures/index.js';

/** The trigger settings of a flow's plan. */
export interface TriggerSettings {
  readonly signature: SignatureKind | null;
  readonly signingSecret: string | undefined;
  readonly signatureHeader: string | undefined;
  readonly dedupe: string | undefined;
  readonly filter: string | undefined;
  readonly debounceMs: number | undefined;
  readonly from: readonly string[];
  readonly events: readonly string[];
}

export function settingsOf({ trigger }: Pick<Plan, 'trigger'>): TriggerSettings {
  const text = (key: string) => (typeof trigger[key] === 'string' ? trigger[key] : undefined);
  const list = (key: string) => {
    const value = trigger[key];
    return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
  };
  return {
    signature: asSignatureKind(trigger.signature),
    signingSecret: text('signing_secret'),
    signatureHeader: text('signature_header'),
    dedupe: text('dedupe'),
    filter: text('filter'),
    debounceMs: typeof trigger.debounce_ms === 'number' ? trigger.debounce_ms : undefined,
    from: list('from'),
    events: list('event'),
  };
}
