import { plainText } from '../tokens/token-endpoint.js';

/** What a provider's redirect may say instead of a code (RFC 6749, 4.1.2.1), as what the person can do about it. */
const SENTENCES: Readonly<Record<string, string>> = {
  access_denied: 'Access was not granted. Start again if that was a mistake.',
  invalid_scope:
    'The provider does not know one of the scopes, or does not grant it to this client: correct the client’s scopes.',
  unauthorized_client: 'The provider does not let this client ask: check its settings at the provider.',
  invalid_request: 'The provider finds fault with the request: check the client’s addresses and parameters.',
  unsupported_response_type: 'The provider gives no codes to this client: check its settings at the provider.',
  server_error: 'The provider had a fault of its own. Try again later.',
  temporarily_unavailable: 'The provider is overloaded or down. Try again later.',
  redirect_uri_mismatch: 'The provider does not know our address: register the redirect URI at the provider.',
};

/** A sentence of ours, and the provider's own words as one line of plain text. */
export function providerError(error: string, description: string | undefined): string {
  const known = Object.hasOwn(SENTENCES, error) ? SENTENCES[error] : undefined;
  const sentence = known ?? 'The provider refused.';
  const words = plainText([known ? '' : error, description ?? ''].filter((part) => part !== '').join(': '));
  return words === '' ? sentence : `${sentence} It says: “${words}”`;
}
