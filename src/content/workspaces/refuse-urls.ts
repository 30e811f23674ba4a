import type { Deps } from '../../deps.js';
import type { Issue, UrlPlace } from '../../format/index.js';

/** An issue for each URL that this installation would refuse to call, judged by its text only, such as a private IP. */
export function urlIssues({ net }: Pick<Deps, 'net'>, urls: readonly UrlPlace[]): Issue[] {
  return urls.flatMap(({ url, ...place }): Issue[] => {
    const fault = net.check(url);
    return fault === null ? [] : [{ ...place, severity: 'error', message: `\`notify.url\`: ${fault.message}.` }];
  });
}
