import { readStream } from './read-stream.mjs';

/** @typedef {ReturnType<typeof createApi>} Api */

/**
 * The service's API as any client would call it. An answer other than 2xx is an Error in the service's words.
 * @param {{ url: string, key: string }} service
 */
export function createApi({ url, key }) {
  const authorization = { Authorization: `Bearer ${key}` };

  /** @param {string} path @param {RequestInit} [init] */
  const call = async (path, init = {}) => {
    const response = await fetch(new URL(path, url), { ...init, headers: { ...authorization, ...init.headers } });
    if (!response.ok) throw new Error(`${init.method ?? 'GET'} ${path} was refused: ${await refusal(response)}`);
    return response;
  };

  return {
    url,
    /** @param {string} path @returns {Promise<unknown>} */
    get: async (path) => (await call(path)).json(),
    /** @param {string} path @param {object} body @returns {Promise<unknown>} */
    post: async (path, body) =>
      (await call(path, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(body) })).json(),
    /** Server-sent events, until the stream ends. @param {string} path @param {AbortSignal} signal */
    stream: async (path, signal) => readStream(await call(path, { signal })),
  };
}

const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Posts JSON to an address that needs no key, since it carries a token. @param {string} url @param {object} body */
export async function postOpenly(url, body) {
  const response = await fetch(url, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`the event was refused: ${await refusal(response)}`);
}

/** The error in words, and each issue of a deploy. @param {Response} response */
async function refusal(response) {
  const text = await response.text();
  try {
    const { error, issues = [] } = JSON.parse(text);
    const lines = issues.map(
      (/** @type {{ path: string, line: number, message: string }} */ { path, line, message }) =>
        `${path}:${line}: ${message}`,
    );
    return [`${response.status}, ${error}`, ...lines].join('\n');
  } catch {
    return `${response.status}, ${text.slice(0, 200)}`;
  }
}
