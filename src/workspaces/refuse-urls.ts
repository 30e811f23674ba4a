import type { Deps } from '../deps.js';
import type { Issue, UrlPlace } from '../workspace/index.js';

/** An issue for each address that this install would refuse to ask, as far as its text tells: a private literal, say. */
export function urlIssues({ net }: Pick<Deps, 'net'>, urls: readonly UrlPlace[]): Issue[] {
  return urls.flatMap(({ url, ...place }): Issue[] => {
    const fault = net.check(url);
    return fault === null ? [] : [{ ...place, severity: 'error', message: `\`notify.url\`: ${fault.message}.` }];
  });
}
