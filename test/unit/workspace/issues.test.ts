import { expect, test } from 'vitest';
import { type CheckContext, checkTree, type SourceFile } from '../../../src/format/index.js';
import { type FaultCase, FAULTS as PLAIN_FAULTS } from './faults.js';
import { HTTP_FAULTS } from './http-faults.js';
import { IGNORED_FAULTS } from './ignored-faults.js';
import { check, kettleAndLeaf, NO_CONTEXT, tree } from './tree.js';
import { TRIGGER_FAULTS } from './trigger-faults.js';

const FAULTS = [...PLAIN_FAULTS, ...HTTP_FAULTS, ...TRIGGER_FAULTS, ...IGNORED_FAULTS];

const SECRETS = ['SHOP_API_KEY', 'SHOP_WEBHOOK_SECRET', 'MAIL_TOKEN', 'CRM_TOKEN', 'COURIER_TOKEN'];
const CONTEXT: CheckContext = {
  livePaths: ['storage/complaints/may.md'],
  secrets: SECRETS,
  models: { aliases: [], providers: ['openai'], any: false },
};

/** The codes that a deploy answers; a skill's unknown keys and names are warnings by the lenient rules of its format. */
const CODES = `yaml/syntax yaml/duplicate-key yaml/alias yaml/unclosed
file/too-large file/bad-path file/symlink file/setext-heading file/heading-without-space file/late-title
file/unclosed-fence file/unclosed-comment file/not-utf8
workspace/unknown-key workspace/bad-value flow/unknown-key flow/bad-value flow/bad-name agent/unknown-key
agent/bad-value agent/bad-name eval/unknown-key eval/bad-value eval/bad-name tool/unknown-key tool/bad-value
tool/bad-name skill/unknown-key skill/bad-value skill/bad-name document/unknown-key document/bad-value agent/ignored-key
flow/no-steps flow/orphan-branch flow/bad-cron flow/bad-timezone flow/unsigned-webhook
flow/no-effect flow/unlikely-value
step/no-doer step/two-agents step/two-doers step/duplicate-id step/bad-id step/unknown-option step/bad-value
step/mixed-list step/option-not-one-line step/bad-expression step/bad-variable step/unknown-step step/forward-jump
step/schema-without-json step/bad-schema step/loop-without-bound step/option-ignored step/forward-read case/no-input case/assertion-typo
ref/agent ref/subflow ref/subflow-cycle ref/tool ref/skill ref/document ref/secret ref/model
secret/in-prompt secret/plain-http secret/not-granted secret/literal
file/heading-ignored workspace/key-ignored agent/key-ignored flow/key-ignored eval/key-ignored tool/key-ignored
document/key-ignored tree/two-spellings tree/case-twin tree/protected-path tree/unknown-path`.split(/\s+/);

/** The example with these files over it. */
function withFiles(base: readonly SourceFile[], files: readonly SourceFile[]): SourceFile[] {
  const paths = new Set(files.map(({ path }) => path));
  return [...base.filter(({ path }) => !paths.has(path)), ...files];
}

const EXAMPLE = tree(kettleAndLeaf());
/** What the cases refer to, and no more: the large flows are read once, not a hundred times. */
const SMALL = EXAMPLE.filter(({ path }) => !/^evals|refund-request|weekly-digest/.test(path));

function expected({ code, at: [path, line, column], severity }: FaultCase) {
  return { path, line, column, code, severity: severity ?? 'error' };
}

function placed(issues: readonly { path: string; line: number; column: number; code: string; severity: string }[]) {
  return issues.map(({ path, line, column, code, severity }) => ({ path, line, column, code, severity }));
}

test('every code of the format has a case in the table', () => {
  expect([...new Set(FAULTS.map(({ code }) => code))].sort()).toEqual([...CODES].sort());
});

test('the example workspace is checked without an issue', () => {
  expect(checkTree(EXAMPLE, CONTEXT).issues).toEqual([]);
});

test.each(FAULTS.map((fault) => [fault.code, fault.why, fault] as const))(
  '%s is reported where it is: %s',
  (_code, _why, fault) => {
    const { issues, workspace } = checkTree(withFiles(SMALL, fault.files), CONTEXT);
    expect(placed(issues)).toContainEqual(expected(fault));
    expect(workspace === null).toBe(issues.some(({ severity }) => severity === 'error'));
    expect(issues.every(({ message }) => /[.!?]$/.test(message))).toBe(true);
  },
);

test('faults of every kind in one tree are all reported at once, sorted by path, line and column', () => {
  const files = new Map(FAULTS.flatMap((fault) => fault.files.map((file) => [file.path, file] as const)));
  const { issues, workspace } = checkTree(withFiles(EXAMPLE, [...files.values()]), CONTEXT);
  expect(workspace).toBeNull();
  expect(placed(issues)).toEqual(expect.arrayContaining(FAULTS.map(expected)));
  const order = issues.map(({ path, line, column }) => [path, line, column] as const);
  expect(order).toEqual([...order].sort(([a, b, c], [d, e, f]) => (a === d ? b - e || c - f : a < d ? -1 : 1)));
});

test('a tree over its limits is refused with one issue, unread', () => {
  const files = Array.from({ length: 2_001 }, (_, index) => [`knowledge/${index}.md`, '---'] as const);
  const { issues, workspace } = check(Object.fromEntries(files));
  expect(workspace).toBeNull();
  expect(issues.map(({ code }) => code)).toEqual(['tree/too-large']);
  const bytes = { path: 'tools/a.bin', content: new Uint8Array(16 * 1024 * 1024 + 1) };
  expect(checkTree([bytes], NO_CONTEXT).issues.map(({ code }) => code)).toContain('tree/too-large');
});

test('an unknown key names the key that was probably meant', () => {
  const { issues } = check({ 'flows/a.md': '---\ntriger: manual\n---\n## A\n\n- wait: 1h' });
  expect(issues).toEqual([
    {
      path: 'flows/a.md',
      line: 2,
      column: 1,
      code: 'flow/unknown-key',
      severity: 'error',
      message: 'There is no key `triger` here.',
      hint: 'Did you mean `trigger`?',
    },
  ]);
});
