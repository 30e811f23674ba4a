import type { CodeHost } from './contract.js';
import { at, authorsOf, commitAt, needText, placeOf, textAt } from './fields.js';

/** Gitea, Forgejo and Gogs: GitHub's payloads under headers of their own. */
export const gitea: CodeHost = {
  label: 'Gitea',
  read: (name, payload) => {
    if (name !== 'push') return { kind: 'other', name };
    const path = needText(payload, 'repository', 'full_name');
    const { url, root } = placeOf(needText(payload, 'repository', 'html_url'), path);
    return {
      kind: 'push',
      ref: needText(payload, 'ref'),
      commit: commitAt(payload, 'after'),
      message: textAt(payload, 'head_commit', 'message') ?? '',
      authors: authorsOf(at(payload, 'head_commit'), at(payload, 'commits')),
      repository: { url, archiveUrl: (commit) => `${root}/api/v1/repos/${path}/archive/${commit}.tar.gz` },
    };
  },
  tokenHeader: (token) => ({ authorization: `token ${token}` }),
};
