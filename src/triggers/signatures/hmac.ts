import { hmacSha256, isSameMac } from '../../shared/hmac.js';
import type { SignatureCheck } from './contract.js';
import { fromBase64, fromHex } from './read-digest.js';

const DEFAULT_HEADER = 'x-signature';

/** The body's HMAC in hex or base64, with or without `sha256=`, in the header that the flow names. */
export const hmac: SignatureCheck = ({ header, body, secret, signatureHeader = DEFAULT_HEADER }) => {
  const given = (header(signatureHeader.toLowerCase()) ?? '').trim().replace(/^sha256=/i, '');
  return isSameMac(hmacSha256(secret, body), fromHex(given) ?? fromBase64(given));
};
