import { isRecord } from '../../../shared/json.js';
import type { CodeHost } from './contract.js';
import { at, authorsOf, commitAt, needText, placeOf, textAt } from './fields.js';

/** GitLab: `X-Gitlab-Event: Push Hook`, archives by the REST API. */
export const gitlab: CodeHost = {
  label: 'GitLab',
  read: (name, payload) => {
    if (name !== 'Push Hook') return { kind: 'other', name };
    const path = needText(payload, 'project', 'path_with_namespace');
    const { url, root } = placeOf(needText(payload, 'project', 'web_url'), path);
    const commit = commitAt(payload, 'after');
    const commits = at(payload, 'commits');
    const head = Array.isArray(commits) ? commits.find((one) => isRecord(one) && one.id === commit) : undefined;
    return {
      kind: 'push',
      ref: needText(payload, 'ref'),
      commit,
      message: textAt(head, 'message') ?? '',
      authors: authorsOf(head, commits),
      repository: {
        url,
        archiveUrl: (sha) => `${root}/api/v4/projects/${encodeURIComponent(path)}/repository/archive.tar.gz?sha=${sha}`,
      },
    };
  },
  tokenHeader: (token) => ({ 'private-token': token }),
};
