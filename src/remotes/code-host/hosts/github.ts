import type { CodeHost } from './contract.js';
import { hubPush } from './fields.js';

/** GitHub and GitHub Enterprise: `X-GitHub-Event`, archives by the REST API. */
export const github: CodeHost = {
  label: 'GitHub',
  read: (name, payload) => {
    if (name === 'ping') return { kind: 'ping' };
    if (name !== 'push') return { kind: 'other', name };
    return hubPush(payload, ({ root, path }, commit) => {
      const api = root === 'https://github.com' ? 'https://api.github.com' : `${root}/api/v3`;
      return `${api}/repos/${path}/tarball/${commit}`;
    });
  },
  tokenHeader: (token) => ({ authorization: `Bearer ${token}` }),
};
