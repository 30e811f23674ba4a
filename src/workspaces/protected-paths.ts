const FOLDERS = ['runs', 'state', 'storage', 'files', 'outputs'];

/** The service's own: a deploy or an edit never carries these, in whichever case they are spelt. */
export function isProtectedPath(path: string): boolean {
  const lower = path.toLowerCase();
  const [first = ''] = lower.split('/');
  return lower === 'secrets.json' || FOLDERS.includes(first);
}
