/** How a deploy is named by the `commit` and the `message` of its body. */
export interface DeployName {
  /** A full hash: the revision's id, which belongs to this tree only. */
  readonly id: string | null;
  /** Any other id: used for the revision if it is free, so that a CI may send the same one twice. */
  readonly preferredId: string | null;
  /** The id as the caller gave it, by which history finds the deploy. */
  readonly givenId: string | null;
  readonly message: string | undefined;
}

const FULL_HASH = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i;
const HEX = /^[0-9a-f]{7,64}$/i;
/** `v1.2.3`, `build-417`, `2026-11-29`: a word without a digit is more likely a message. */
const SHORT_ID = /^(?=.*\d)[\w.:/+@#-]{1,100}$/;
const TOKEN = /^[^\s\p{C}]{1,200}$/u;

/** Reads `commit` as an id or as text of the message, so that nothing the caller gave is lost. */
export function readCommit(input: {
  readonly commit?: string | undefined;
  readonly message?: string | undefined;
}): DeployName {
  const commit = cleaned(input.commit);
  const message = cleaned(input.message);
  if (commit === undefined) return { id: null, preferredId: null, givenId: null, message };
  if (FULL_HASH.test(commit)) return { id: commit.toLowerCase(), preferredId: null, givenId: commit, message };
  const isHex = HEX.test(commit);
  const preferredId = isHex || SHORT_ID.test(commit) ? commit : null;
  const givenId = TOKEN.test(commit) ? commit : null;
  if (message === undefined) return { id: null, preferredId, givenId, message: isHex ? undefined : commit };
  const isText = givenId === null && message !== commit;
  return { id: null, preferredId, givenId, message: isText ? `${message}\n\n${commit}` : message };
}

function cleaned(text: string | undefined): string | undefined {
  return text?.replaceAll('\0', '').trim() || undefined;
}
