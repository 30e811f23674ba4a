import type { CodeHost } from './contract.js';
import { hubPush } from './fields.js';

/** Gitea, Forgejo and Gogs: GitHub's payloads under headers of their own. */
export const gitea: CodeHost = {
  label: 'Gitea',
  read: (name, payload) => {
    if (name !== 'push') return { kind: 'other', name };
    return hubPush(payload, ({ root, path }, commit) => `${root}/api/v1/repos/${path}/archive/${commit}.tar.gz`);
  },
  tokenHeader: (token) => ({ authorization: `token ${token}` }),
};
