import { FLUSH, pktLine, type RefCommand } from '../../git/index.js';
import { plain } from './sideband.js';

/** The outcome of one ref of a push. */
export type Outcome =
  | {
      readonly kind: 'ok';
      /** The ref that moved in its place, reported to clients with `report-status-v2`. */
      readonly instead?: { readonly ref: string; readonly old: string | null };
      readonly forced?: boolean;
    }
  | { readonly kind: 'no'; readonly reason: string };

/** The report of a push: `unpack` is null when the pack was accepted, else its fault. */
export function writeReport(
  commands: readonly (readonly [RefCommand, Outcome])[],
  { unpack, v2 }: { readonly unpack: string | null; readonly v2: boolean },
): Buffer {
  const lines = [pktLine(`unpack ${unpack === null ? 'ok' : oneLine(unpack)}\n`)];
  for (const [command, outcome] of commands) {
    if (outcome.kind === 'no') lines.push(pktLine(`ng ${command.ref} ${oneLine(outcome.reason)}\n`));
    else lines.push(pktLine(`ok ${command.ref}\n`), ...(v2 ? optionsOf(command, outcome) : []));
  }
  return Buffer.concat([...lines, FLUSH]);
}

const NONE = '0'.repeat(40);

function optionsOf(command: RefCommand, { instead, forced }: Extract<Outcome, { kind: 'ok' }>): Buffer[] {
  const lines: string[] = [];
  if (instead) lines.push(`refname ${instead.ref}`, `old-oid ${instead.old ?? NONE}`, `new-oid ${command.new ?? NONE}`);
  if (forced) lines.push('forced-update');
  return lines.map((line) => pktLine(`option ${line}\n`));
}

function oneLine(text: string): string {
  return plain(text.replace(/\s+/g, ' ')).slice(0, 500);
}
