import { MAIN, type RefCommand } from '../../git/index.js';

const MAX_REFS = 1_000;
const MAX_NAME_BYTES = 200;
/** What `git check-ref-format` refuses, and characters that terminals or other systems display differently. */
const REFUSED = /[\p{Cc}\p{Cf}\p{Zs}\p{Surrogate}\u2028\u2029~^:?*[\\]|\.\.|@\{|\/\/|\/$|\.$/u;

/** The faults of these updates by the rules for all refs. A command that is missing in the result has none. */
export function refFaults(
  commands: readonly RefCommand[],
  existing: ReadonlyMap<string, string>,
): ReadonlyMap<RefCommand, string> {
  const faults = new Map<RefCommand, string>();
  const seen = new Set<string>();
  const after = new Set(existing.keys());
  for (const command of commands) {
    const fault = seen.has(command.ref) ? 'is given twice' : (nameFault(command) ?? roomFault(command, after));
    seen.add(command.ref);
    if (fault !== null) faults.set(command, fault);
    else if (command.new === null) after.delete(command.ref);
    else after.add(command.ref);
  }
  return faults;
}

function nameFault({ ref, old, new: next }: RefCommand): string | null {
  if (!/^refs\/(heads|tags)\/./.test(ref)) return 'only branches and tags can be pushed';
  if (Buffer.byteLength(ref) > MAX_NAME_BYTES) return `its name is over ${MAX_NAME_BYTES} bytes`;
  const parts = ref.split('/');
  if (
    ref === 'refs/heads/HEAD' ||
    REFUSED.test(ref) ||
    parts.some((part) => part === '' || part.startsWith('.') || part.endsWith('.lock'))
  )
    return 'its name is none that git takes everywhere';
  if (ref.normalize('NFC') !== ref) return 'its name is not in Unicode form NFC';
  if (old === null && next === null) return 'the ref does not exist';
  if (ref === MAIN && next === null) return 'main is what is live: it cannot be deleted';
  return null;
}

/** A ref name cannot be a folder of another one, since refs are files. */
function roomFault({ ref, new: next }: RefCommand, refs: ReadonlySet<string>): string | null {
  if (next === null || refs.has(ref)) return null;
  if (refs.size >= MAX_REFS) return `there are ${MAX_REFS} refs, the most there may be: delete some`;
  for (const other of refs) {
    if (other.startsWith(`${ref}/`) || ref.startsWith(`${other}/`)) return `there is ${other} in its way`;
  }
  return null;
}
