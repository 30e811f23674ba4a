import { type FaultCase, fault } from './faults.js';

const SIGNED = ['trigger: webhook', 'signing_secret: SHOP_API_KEY'];

type Case = readonly [name: string, keys: readonly string[], at: readonly [line: number, column: number]];

/** Flows that are deployed, each with one warning. */
function warnings(code: string, cases: readonly Case[]): FaultCase[] {
  return cases.map(([name, keys, at]) => {
    const path = `flows/${name}.md`;
    const lines = ['---', ...keys, '---', '## First @writer', '', 'Write.'];
    return fault(code, name.replaceAll('-', ' '), { [path]: lines }, [path, ...at], 'warning');
  });
}

/** What a flow says of its triggers that starts nothing. */
export const TRIGGER_FAULTS: readonly FaultCase[] = [
  ...warnings('flow/no-effect', [
    ['cron-without-schedule', ['trigger: [manual, event]', 'event: push', 'cron: 0 8 * * *'], [4, 7]],
    ['from-without-email', ['trigger: schedule', 'cron: 0 8 * * *', 'from: "@acme.com"'], [4, 7]],
    ['signature-header-without-webhook', ['trigger: email', 'signature_header: X-A'], [3, 19]],
    ['dedupe-without-delivery', ['trigger: manual', 'dedupe: body.id'], [3, 9]],
    ['signature-header-of-another', [...SIGNED, 'signature: payment', 'signature_header: X-A'], [5, 19]],
  ]),
  ...warnings('flow/unlikely-value', [
    ['from-a-word', ['trigger: email', 'from: [ada@acme.com, nope]'], [3, 7]],
    ['from-a-domain', ['trigger: email', 'from: acme.com'], [3, 7]],
    ['from-a-pattern', ['trigger: email', 'from: "*@acme.com"'], [3, 7]],
    ['header-of-two-words', [...SIGNED, 'signature: hmac', 'signature_header: "X A"'], [5, 19]],
    ['filter-a-number', [...SIGNED, 'signature: hmac', 'filter: "1"'], [5, 9]],
    ['filter-a-sum', [...SIGNED, 'signature: hmac', 'filter: "input.a ? input.b + 1 : size(input.c)"'], [5, 9]],
    ['filter-a-list', [...SIGNED, 'signature: hmac', 'filter: "input.a.filter(b, b > 1)"'], [5, 9]],
    ['debounce-for-a-year', [...SIGNED, 'signature: hmac', 'dedupe: body.id', 'debounce: 400d'], [6, 11]],
  ]),
];
