import { checkCel } from '../cel/index.js';
import { declares } from '../schema/index.js';
import { isSender } from '../values/sender.js';
import type { ReadFlow } from './flow-model.js';
import { type FLOW_KEYS, TRIGGER_KEYS } from './keys/flow-keys.js';
import type { OpenFile } from './open-file.js';
import { show } from './reader.js';
import { report } from './source.js';

type FlowKey = keyof typeof FLOW_KEYS;

interface Doubt {
  readonly key: FlowKey;
  readonly message: string;
  readonly hint: string;
}

/** A well-formed trigger that never fires is only a warning, so that existing workspaces still deploy. */
export function checkTriggerValues(file: OpenFile, flow: ReadFlow): void {
  for (const { key, ...fault } of withoutEffect(flow)) {
    report(file, flow.keys.at(key), { code: 'flow/no-effect', severity: 'warning', ...fault });
  }
  for (const { key, ...fault } of unlikely(flow)) {
    report(file, flow.keys.at(key), { code: 'flow/unlikely-value', severity: 'warning', ...fault });
  }
}

/** Keys of a trigger that the flow does not have. */
function withoutEffect({ keys }: ReadFlow): Doubt[] {
  const { trigger, signature } = keys.values;
  if (trigger === undefined) return [];
  const doubts = Object.entries(TRIGGER_KEYS).flatMap(([name, wanted]): Doubt[] => {
    const key = name as FlowKey;
    if (!keys.has(key) || trigger.some((one) => wanted.includes(one))) return [];
    const message = `\`${key}\` has no effect without \`trigger: ${wanted[0]}\`.`;
    return [{ key, message, hint: `Add \`${wanted[0]}\` to \`trigger\`, or take \`${key}\` out.` }];
  });
  const isOthers = signature === undefined ? !keys.may('signature') : signature !== 'hmac';
  if (!keys.has('signature_header') || !trigger.includes('webhook') || !isOthers) return doubts;
  const message = '`signature_header` has no effect without `signature: hmac`.';
  return [...doubts, { key: 'signature_header', message, hint: 'Other ways of signing have headers of their own.' }];
}

const DAY_MS = 86_400_000;
/** The longest useful wait for the end of a burst. */
const LONG_MS = 7 * DAY_MS;

/** Values that no delivery can match, or that are probably mistakes. */
function unlikely({ keys }: ReadFlow): Doubt[] {
  const { from = [], signature_header: header, filter, debounce } = keys.values;
  const doubts: Doubt[] = from
    .filter((one) => !isSender(one.trim()))
    .map((one) => ({ key: 'from', message: `\`from\`: no mail is from ${show(one)}.`, hint: senderHint(one.trim()) }));
  if (header !== undefined && !/^[\w!#$%&'*+.^`|~-]+$/.test(header)) {
    const message = `\`signature_header\`: no header can have the name ${show(header)}.`;
    doubts.push({ key: 'signature_header', message, hint: 'Name one header, such as `X-Signature`.' });
  }
  const read =
    filter === undefined
      ? undefined
      : checkCel(filter, {
          roots: ['input', 'trigger', 'run'],
          hasField: ([root, ...path]) => root === 'input' && declares(keys.values.input, path),
        });
  if (read?.ok && !read.mayBeBoolean) {
    const message = '`filter`: this is never true or false, so every delivery is refused.';
    doubts.push({ key: 'filter', message, hint: 'Compare with something, such as `input.action == "opened"`.' });
  }
  if (debounce !== undefined && debounce > LONG_MS) {
    const message = `\`debounce\`: no run starts before nothing has come for ${Math.round(debounce / DAY_MS)} days.`;
    doubts.push({ key: 'debounce', message, hint: 'Bursts end within seconds or minutes: `30s`, `10m`.' });
  }
  return doubts;
}

function senderHint(text: string): string {
  const [, inside] = /<([^<>]+)>$/.exec(text) ?? [];
  const meant = inside ?? `@${text.slice(text.lastIndexOf('@') + 1).replace(/^[*.]+/, '')}`;
  const isClear = meant.length <= 100 && meant.includes('.') && isSender(meant);
  if (isClear) return `Write \`${meant}\`${inside === undefined ? ' for everyone at that domain' : ''}.`;
  return 'Write a whole address, `ada@acme.com`, or `@acme.com` for everyone at that domain.';
}
