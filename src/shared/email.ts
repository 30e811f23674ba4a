/**
 * Matches a single mail address, and nothing that a header or a list could read as more than one. A host without a dot
 * (`owner@localhost`) counts, since mail inside a company may go there. Length is limited by `isEmail`.
 */
export const EMAIL = /^[^\s<>@",;:()[\]\\]+@[^\s<>@",;:()[\]\\.]+(?:\.[^\s<>@",;:()[\]\\.]+)*$/;

/** The maximum length of an address (RFC 5321). */
export const MAX_EMAIL = 254;

export function isEmail(text: string): boolean {
  return text.length <= MAX_EMAIL && EMAIL.test(text);
}
