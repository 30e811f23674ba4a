/**
 * The name of an operation for generated clients, from its method and path: `GET /api/workspaces/{ws}/runs/{id}` is
 * `getWorkspaceRun`. A segment before a parameter names one thing, so it is singular.
 */
export function operationIdOf(method: string, path: string): string {
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== 'api');
  const words = segments.flatMap((segment, index) => {
    if (segment.startsWith('{')) return segments[index - 1]?.startsWith('{') ? [segment.slice(1, -1)] : [];
    return [segments[index + 1]?.startsWith('{') ? singular(segment) : segment];
  });
  return method + (words.length === 0 ? ['home'] : words).map(pascal).join('');
}

function singular(word: string): string {
  return word.replace(/ies$/, 'y').replace(/s$/, '');
}

function pascal(text: string): string {
  return text.replace(/(?:^|[^a-zA-Z0-9]+)([a-zA-Z0-9])/g, (_all, letter: string) => letter.toUpperCase());
}
