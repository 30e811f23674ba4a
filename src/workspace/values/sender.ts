const ADDRESS = /^[^\s<>@",;:()[\]\\]+@[^\s<>@",;:()[\]\\]+$/;

/** Whether it is one bare address, as mail is from one. */
export function isAddress(text: string): boolean {
  return ADDRESS.test(text);
}

/** Whether mail can be from it, as `from:` names senders: `ada@acme.com`, or `@acme.com` for everybody there. */
export function isSender(text: string): boolean {
  return !text.includes('*') && isAddress(text.startsWith('@') ? `a${text}` : text);
}
