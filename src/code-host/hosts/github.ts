import type { CodeHost } from './contract.js';
import { at, authorsOf, commitAt, needText, placeOf, textAt } from './fields.js';

/** GitHub and GitHub Enterprise: `X-GitHub-Event`, archives by the REST API. */
export const github: CodeHost = {
  label: 'GitHub',
  read: (name, payload) => {
    if (name === 'ping') return { kind: 'ping' };
    if (name !== 'push') return { kind: 'other', name };
    const path = needText(payload, 'repository', 'full_name');
    const { url, root } = placeOf(needText(payload, 'repository', 'html_url'), path);
    const api = root === 'https://github.com' ? 'https://api.github.com' : `${root}/api/v3`;
    return {
      kind: 'push',
      ref: needText(payload, 'ref'),
      commit: commitAt(payload, 'after'),
      message: textAt(payload, 'head_commit', 'message') ?? '',
      authors: authorsOf(at(payload, 'head_commit'), at(payload, 'commits')),
      repository: { url, archiveUrl: (commit) => `${api}/repos/${path}/tarball/${commit}` },
    };
  },
  tokenHeader: (token) => ({ authorization: `Bearer ${token}` }),
};
