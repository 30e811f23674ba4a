import { type FaultCase, fault } from './faults.js';

const DOC = ['openapi: 3.1.0', 'paths: { /x: { get: { operationId: look }, post: { operationId: act } } }'];

/** Of http tools: their address, the document beside them, and who names its operations. */
export const HTTP_FAULTS: readonly FaultCase[] = [
  ...(
    [
      ['base is no address', ['base: https://[x'], {}, 3],
      ['base holds a password', ['base: https://me:pass@api.example'], {}, 3],
      ['base climbs', ['base: https://api.example/a/../b'], {}, 3],
      ['document is of version 2', ['base: https://api.example', 'openapi: d.yaml'], { d: ['swagger: "2.0"'] }, 4],
      ['document is no map', ['base: https://api.example', 'openapi: d.yaml'], { d: ['- a'] }, 4],
      [
        'document without an allowed method',
        ['base: https://api.example', 'methods: [PUT]', 'openapi: d.yaml'],
        { d: DOC },
        5,
      ],
      ['document without a server', ['openapi: d.yaml'], { d: DOC }, 3],
    ] as const
  ).map(([why, keys, files, line], nth) => {
    const document: readonly string[] = 'd' in files ? files.d : [];
    const folder = `tools/http-${nth}`;
    const lines = { [`${folder}/tool.md`]: ['---', 'description: a', ...keys, '---'], [`${folder}/d.yaml`]: document };
    const column = keys.at(-1)?.startsWith('openapi') ? 10 : 7;
    return fault('tool/bad-value', why, lines, [`${folder}/tool.md`, line, column]);
  }),
  ...(
    [
      ['grants an operation that is not there', 'tools: [api.lok]', 2, 9],
      ['grants an operation of another method', 'tools: [api.act]', 2, 9],
      ['turns off an operation that is not there', 'disallowedTools: [api.no]', 2, 19],
    ] as const
  ).map(([why, key, line, column], nth) =>
    fault(
      'ref/tool',
      why,
      {
        [`agents/caller-${nth}.md`]: ['---', key, '---'],
        'tools/api/tool.md': ['---', 'description: a', 'base: https://api.example', 'openapi: d.yaml', '---'],
        'tools/api/d.yaml': DOC,
      },
      [`agents/caller-${nth}.md`, line, column],
    ),
  ),
];
