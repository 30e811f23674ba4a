import { ArchiveFault } from './archive-fault.js';

const SPACE = 0x20;
const LINE_END = 0x0a;

/** The records of a pax header, `<length> <key>=<value>\n` each (POSIX.1-2001), by key; the last of a key counts. */
export function readPax(body: Buffer): ReadonlyMap<string, Buffer> {
  const records = new Map<string, Buffer>();
  let at = 0;
  while (at < body.length) {
    const space = body.indexOf(SPACE, at);
    const digits = space < 0 ? '' : body.toString('latin1', at, space);
    const end = /^[1-9]\d{0,8}$/.test(digits) ? at + Number(digits) : 0;
    const equals = body.indexOf('=', space);
    const isWhole = end > space && end <= body.length && body[end - 1] === LINE_END && equals > space && equals < end;
    if (!isWhole) throw new ArchiveFault('the archive has a pax header that cannot be read');
    records.set(body.toString('utf8', space + 1, equals), body.subarray(equals + 1, end - 1));
    at = end;
  }
  return records;
}
