import { expect } from 'vitest';
import type { OptionRow } from './row.js';

const JSON_SCORE = '```yaml schema\nscore: integer\n```';
const done = (...ids: readonly string[]) => ids.map((id) => ({ id, status: 'completed' }));

/** Options of who does a step, with what, and what the step answers. */
export const WORK_ROWS: readonly OptionRow[] = [
  {
    of: 'step',
    key: 'id',
    values: '`a-z`, `0-9` and `_`, not beginning with a digit',
    byDefault: 'the folded title',
    refused: [
      { write: 'id: "1st"', code: 'step/bad-id', says: '1st' },
      { write: 'id: Not-A-Name', code: 'step/bad-id', says: 'Not-A-Name' },
      { write: 'id: "true"', code: 'step/bad-id', says: 'true' },
      { write: 'id: first', code: 'step/duplicate-id', says: 'Two steps have the id `first`' },
      { write: 'id:', code: 'step/bad-value', says: 'has no value' },
      { write: 'ids: second', code: 'step/unknown-option', says: 'id' },
    ],
    cases: {
      id: {
        flow: '## Read what the customer wrote @worker\n\n- id: letter\n\nRead it.\n\n## Answer @worker\n\nAnswer {{steps.letter.result}}.',
        killedIn: { step: 'letter' },
        shows: { status: 'completed', steps: done('letter', 'answer') },
        holds: (_run, calls) => expect(calls.at(-1)?.prompt).toContain('letter is done'),
      },
    },
  },
  {
    of: 'step',
    key: 'output',
    values: '`text` or `json`',
    byDefault: '`text`',
    more: 'An answer that is not JSON is retried twice.',
    refused: [
      { write: 'output: jsn', code: 'step/bad-value', says: 'json' },
      { write: 'output: 7', code: 'step/bad-value', says: 'must be one of' },
      { write: 'output: [json]', code: 'step/bad-value', says: 'must be one of' },
      {
        write: 'output: json',
        doer: '',
        beside: ['approve: human'],
        code: 'step/bad-value',
        says: 'no meaning without',
      },
    ],
    cases: {
      output: {
        flow: '## Score it @worker\n\n- output: json\n\nHow good is it?\n\n## Praise @worker\n\n- when: steps.score_it.data.score > 5\n\nPraise it.',
        model: ({ step }) => (step === 'score_it' ? { text: '{ "score": 8 }' } : undefined),
        killedIn: { step: 'score_it' },
        shows: { status: 'completed', steps: [{ data: { score: 8 } }, { status: 'completed' }] },
      },
    },
  },
  {
    of: 'step',
    key: 'schema',
    values: 'Picoschema or JSON Schema, or a block marked `yaml schema` or `json schema`',
    byDefault: 'none',
    more: 'An answer that does not fit is retried twice, then the step fails.',
    refused: [
      { write: 'schema: { score: integer }', code: 'step/schema-without-json', says: 'output: json' },
      { write: 'schema: { score: intger }', beside: ['output: json'], code: 'step/bad-schema', says: 'intger' },
      { write: 'schema: 7', beside: ['output: json'], code: 'step/bad-schema', says: 'not a valid schema' },
    ],
    cases: {
      schema: {
        flow: `## Score it @worker\n\n- output: json\n\nHow good is it?\n\n${JSON_SCORE}`,
        model: ({ turn }) => ({ text: turn === 0 ? '{ "score": "eight" }' : '{ "score": 8 }' }),
        killedIn: { turn: 1 },
        killedAfter: 'model-answered',
        shows: { status: 'completed', steps: [{ data: { score: 8 } }] },
        holds: (_run, calls) => expect(calls.at(-1)?.prompt).toContain('Your answer does not fit'),
      },
      'schema in a line': {
        flow: '## Score it @worker\n\n- output: json\n- schema: { score: integer }\n\nHow good is it?',
        model: () => ({ text: '{ "score": "eight" }' }),
        killedIn: { turn: 2 },
        shows: { status: 'failed', steps: [{ status: 'failed', error: expect.stringContaining('does not fit') }] },
      },
    },
  },
  {
    of: 'step',
    key: 'model',
    values: 'an alias of the workspace or of the service, or `provider/model`',
    byDefault: 'the agent’s, then `models.default`',
    refused: [
      { write: 'model: [a, b]', code: 'step/bad-value', says: 'must be a word' },
      {
        write: 'model: strong',
        doer: '',
        beside: ['approve: human'],
        code: 'step/bad-value',
        says: 'no meaning without',
      },
      { write: 'modle: strong', code: 'step/unknown-option', says: 'model' },
    ],
    cases: {
      model: {
        flow: '## Draft @worker\n\nDraft it.\n\n## Think @worker\n\n- model: strong\n\nThink hard.',
        killedIn: { step: 'think' },
        shows: { status: 'completed' },
        holds: (_run, calls) => {
          const models = (step: string) => calls.filter((call) => call.idempotencyKey?.includes(`/${step}/`));
          expect(new Set(models('draft').map(({ body }) => body.model))).toEqual(new Set(['fake']));
          expect(new Set(models('think').map(({ body }) => body.model))).toEqual(new Set(['fake-strong']));
        },
      },
    },
  },
  {
    of: 'step',
    key: 'tools',
    values: 'names out of the agent’s tools',
    byDefault: 'all of them',
    refused: [
      { write: 'tools: 7', code: 'step/bad-value', says: 'list of names' },
      { write: 'tools: [Reed]', code: 'ref/tool', says: 'Read' },
      { write: 'tools: [{ a: 1 }]', code: 'step/bad-value', says: 'must be a word' },
    ],
    cases: {
      tools: {
        flow: '## Look @worker\n\n- tools: [Glob, Read]\n\nLook around.',
        model: ({ turn }) => (turn === 0 ? { calls: [{ name: 'Glob', args: { pattern: '*' } }] } : undefined),
        killedIn: { turn: 1 },
        killedAfter: 'tool-done',
        shows: { status: 'completed', steps: [{ result: 'look is done' }] },
        holds: (_run, calls) => {
          const names = calls[0]?.body.tools.map((tool: { function: { name: string } }) => tool.function.name);
          expect(names.toSorted()).toEqual(['Glob', 'Read']);
        },
      },
    },
  },
  {
    of: 'step',
    key: 'secrets',
    values: 'names of secrets',
    byDefault: 'those of the agent and the flow',
    more: 'Programs find each in a variable of its name. A secret that is in no vault in reach fails the step at once.',
    refused: [
      { write: 'secrets: { A: b }', code: 'step/bad-value', says: 'list of names' },
      {
        write: 'secrets: [TOKEN]',
        doer: '',
        beside: ['approve: human'],
        code: 'step/bad-value',
        says: 'no meaning without',
      },
    ],
    cases: {
      secrets: {
        flow: '## Call them @worker\n\n- secrets: [API_TOKEN]\n\nCall them.',
        killedIn: {},
        shows: { status: 'completed', steps: [{ result: 'call_them is done' }] },
      },
    },
  },
  {
    of: 'step',
    key: 'subflow',
    values: 'the name of a flow',
    byDefault: 'none',
    more: 'The flow runs as a run of its own; its last result is the step’s, its cost too.',
    refused: [
      { write: 'subflow: nowhere', doer: '', code: 'ref/subflow', says: 'nowhere' },
      { write: 'subflow: inner', code: 'step/two-doers', says: 'one doer' },
      { write: 'subflow: [inner]', doer: '', code: 'step/bad-value', says: 'must be a word' },
    ],
    cases: {
      subflow: {
        flow: '## Check @worker\n\nCheck it.\n\n## Print\n\n- subflow: printing\n\n## Tell @worker\n\nTell {{steps.print.result}}.',
        files: { 'flows/printing.md': '---\ndescription: Prints.\n---\n\n## Ink @worker\n\nPut ink on it.\n' },
        killedIn: { step: 'ink' },
        killedAfter: 'step-done-before-report',
        shows: { status: 'completed', steps: [{}, { id: 'print', result: 'ink is done' }, { result: 'tell is done' }] },
      },
    },
  },
  {
    of: 'step',
    key: 'with',
    values: 'a map; `{{path}}` alone keeps its type',
    byDefault: 'the run’s own input',
    refused: [
      { write: 'with: { a: 1 }', code: 'step/bad-value', says: 'no meaning without `subflow`' },
      { write: 'with: seven', doer: '', beside: ['subflow: inner'], code: 'step/bad-value', says: 'map' },
      {
        write: 'with: { a: "{{steps.nobody.result}}" }',
        doer: '',
        beside: ['subflow: inner'],
        code: 'step/unknown-step',
        says: 'nobody',
      },
    ],
    cases: {
      with: {
        flow: '## Count @worker\n\n- output: json\n\nCount them.\n\n## Print\n\n- subflow: printing\n- with: { copies: "{{steps.count.data.n}}", title: "For {{input}}" }',
        files: {
          'flows/printing.md':
            '---\ndescription: Prints.\ninput: { copies: integer, title: string }\n---\n\n## Ink @worker\n\nPrint {{input.copies}} of {{input.title}}.\n',
        },
        start: { task: 'Ada' },
        model: ({ step }) => (step === 'count' ? { text: '{ "n": 3 }' } : undefined),
        killedIn: { step: 'ink' },
        shows: { status: 'completed', steps: [{}, { result: 'ink is done' }] },
        holds: (_run, calls) => expect(calls.at(-1)?.prompt).toContain('Print 3 of \\"For Ada\\"'),
      },
    },
  },
];
