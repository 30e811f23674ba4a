import { hmacSha256, isSameMac } from '../../shared/hmac.js';
import type { SignatureCheck } from './contract.js';
import { fromHex, isFresh } from './read-digest.js';

/** `Stripe-Signature: t=<seconds>,v1=<hex>[,v1=…]` over `<t>.<body>`; two of them while a secret is rotated. */
export const payment: SignatureCheck = ({ header, body, secret, nowMs }) => {
  const parts = (header('stripe-signature') ?? '').split(',').map((part) => part.trim());
  const valuesOf = (name: string) =>
    parts.filter((part) => part.startsWith(`${name}=`)).map((part) => part.slice(name.length + 1));
  const [time, second] = valuesOf('t');
  if (time === undefined || second !== undefined || !isFresh(time, nowMs)) return false;
  const wanted = hmacSha256(secret, `${time}.`, body);
  return valuesOf('v1').some((hex) => isSameMac(wanted, fromHex(hex)));
};
