import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { fc, runs } from '../../support/properties.js';
import { check, kettleAndLeaf } from './tree.js';

const AGENTS = { 'agents/writer.md': '---\ndescription: Writes.\n---\n\nWrite.' };
const FIRST = '## First @writer\n\nOne.\n\n';

function issuesOf(text: string) {
  return check({ ...AGENTS, 'flows/it.md': text }).issues;
}

/** Each way in which a person writes an option that is not read as one. */
const FORMS: Readonly<Record<string, (option: string) => string>> = {
  'without the colon': (o) => `- ${o.replace(':', '')}`,
  'with a capital': (o) => `- ${o.charAt(0).toUpperCase()}${o.slice(1)}`,
  'in capitals': (o) => `- ${o.replace(/^[a-z_]+/, (key) => key.toUpperCase())}`,
  'in a numbered list': (o) => `1. ${o}`,
  'in a numbered list with a bracket': (o) => `1) ${o}`,
  'behind a bullet sign': (o) => `• ${o}`,
  'behind a dash': (o) => `– ${o}`,
  'without a blank behind the mark': (o) => `-${o}`,
  'as a line of its own': (o) => o,
  'as a task': (o) => `- [ ] ${o}`,
  'with a bold key': (o) => `- **${o.replace(':', '**:')}`,
  'with a bold key and colon': (o) => `- **${o.replace(':', ':**')}`,
  'with an emphasized key': (o) => `- *${o.replace(':', '*:')}`,
  'with a key in code': (o) => `- \`${o.replace(':', '`:')}`,
  'all in code': (o) => `- \`${o}\``,
  'all bold': (o) => `- **${o}**`,
  'with an equals sign': (o) => `- ${o.replace(':', ' =')}`,
  'with a blank before the colon': (o) => `- ${o.replace(':', ' :')}`,
  'with a wide colon': (o) => `- ${o.replace(':', '：')}`,
  'without a blank behind the colon': (o) => `- ${o.replace(': ', ':')}`,
  'with a tab behind the colon': (o) => `- ${o.replace(': ', ':\t')}`,
  'with a blank that does not break': (o) => `- ${o.replace(': ', ':\u00A0')}`,
  'with an invisible character': (o) => `- \u200B${o}`,
  'in a quote': (o) => `> - ${o}`,
  'in a code block': (o) => `\`\`\`\n${o}\n\`\`\``,
  'in a yaml block': (o) => `~~~yaml\n- ${o}\n~~~`,
  'indented as code': (o) => `    - ${o}`,
  'below another item': (o) => `- Options\n  - ${o}`,
  'in a table': (o) => `| ${o.replace(': ', ' | ')} |`,
  'in a map': (o) => `{ ${o} }`,
  'within html': (o) => `<div>\n- ${o}\n</div>`,
  'with the other list mark, behind a list': (o) => `- Look closely\n\n* ${o}`,
  'below the text': (o) => `Look closely.\n\n- ${o}`,
  'below the text and at the end of its list': (o) => `Do this:\n\n- Look closely\n- Be kind\n- ${o}`,
};
/** Only keys of several words. */
const WORD_FORMS: Readonly<Record<string, (option: string) => string>> = {
  'with hyphens': (o) => `- ${o.replace(/^[a-z_]+/, (key) => key.replaceAll('_', '-'))}`,
  'with blanks': (o) => `- ${o.replace(/^[a-z_]+/, (key) => key.replaceAll('_', ' '))}`,
  'in camel case': (o) => `- ${o.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase())}`,
};

describe('a gate that is almost one is an error', () => {
  test.each(Object.keys(FORMS))('%s', (form) => {
    const [gate, forms] = [['approve: human', 'approve: [ada@example.com, owner]'], FORMS[form]];
    for (const option of gate) {
      const issues = issuesOf(`${FIRST}## Pay @writer\n\n${forms?.(option)}\n`);
      expect(issues, form).toContainEqual(expect.objectContaining({ severity: 'error' }));
      expect(issues.filter(({ code }) => code === 'step/option-ignored').length, JSON.stringify(issues)).toBeLessThan(
        2,
      );
    }
  });
});

describe('an option with a value that almost fits is an error', () => {
  test.each([
    ['words behind it', '- approve: human before sending'],
    ['a bracket behind it', '- approve: human (before it is sent)'],
    ['a comma behind it', '- approve: human, always'],
    ['capitals and a sign', '- Approve: Human!'],
    ['an article', '- approve: the owner'],
    ['two deciders', '- approve: owner or human'],
    ['two addresses', '- approve: owner@acme.com and cfo@acme.com'],
    ['a role', '- approve: any role:admin, please'],
    ['a bold key', '- **approve:** human (Anna)'],
    ['a misspelt key', '- aprove: human (Anna)'],
    ['a paragraph', 'approve: human (Anna)'],
    ['a number of deciders', 'Need: 2'],
    ['a duration', '- timeout: 30s max'],
    ['an amount', '- budget: $5 per run'],
    ['a number', '- max_rounds: 3 times'],
    ['a word', '- on_reject: stop the run'],
    ['a flag', '- self: false (four eyes)'],
    ['a list of names', '- secrets: [STRIPE_KEY] only'],
    ['a heading of depth 4', '#### approve: human'],
    ['a heading of depth 5', '##### Approve: human #####'],
    ['a heading of depth 6 in a quote', '> ###### approve: human'],
    ['a misspelt decider', '- approve: humans'],
    ['a decider with a sign', '- approve: @owner'],
    ['words before a decider', '- approve: please ask human'],
    ['a decider of another language', '- Approve: by the owners'],
    ['a decider without a colon', '- approve by a human'],
    ['a role without its sign', '- approve: an admin'],
    ['a word before an amount', '- budget: about $5'],
    ['a currency', '- budget: EUR 5'],
    ['a time in words', '- timeout: 30 seconds'],
    ['a number in words', '- need: at least two'],
    ['a word before a word', '- wait: please event'],
    ['an article before a secret', '- secrets: {the} STRIPE_KEY'],
    ['a fence with a comment', '```yaml\n# Ask first.\napprove: human\n```'],
    ['a fence with an unknown line before', '```yaml\nnote: x\napprove: human\n```'],
    ['a fence with an unknown line behind', '```\n- Approve: human\n- note: x\n```'],
  ])('%s', (_what, text) => {
    const issues = issuesOf(`${FIRST}## Pay @writer\n\nLook closely.\n\n${text}\n`);
    expect(issues.map(({ code, severity }) => [code, severity])).toEqual([['step/option-ignored', 'error']]);
  });

  test.each([
    [
      '- Budget: see the table below',
      'Write it as `- budget: …` in the list right under the heading. This must be an amount',
    ],
    ['- Approve: whatever it takes', 'name `human`, `owner`, `role:editor`, `role:admin` or an email address'],
    ['- approve : whatever it takes\n- **Timeout**: soon', 'cannot decide'],
    ['1. timeout: soon', 'This must be a duration'],
    ['- When: it is late', 'Write it as `- when: …`'],
    ['- Budget: about $5', 'Write `- budget: 5`'],
    ['- Max rounds: some', 'This must be a whole number'],
    ['- Aprove: whatever it takes', 'cannot decide'],
  ])('at the place of the options the key is enough: %s', (text, hint) => {
    const issues = issuesOf(`${FIRST}## Pay @writer\n\n${text}\n\nPay.\n`);
    expect(new Set(issues.map(({ code, severity }) => `${code} ${severity}`))).toEqual(
      new Set(['step/option-ignored error']),
    );
    expect(issues[0]?.hint).toContain(hint);
  });

  test('the hint names all deciders', () => {
    const [issue] = issuesOf(`${FIRST}## Pay @writer\n\nLook.\n\n- approve: ada@acme.com and Bob@acme.com, always\n`);
    expect(issue?.hint).toContain('`- approve: [ada@acme.com, bob@acme.com]`');
  });
});

interface Sample {
  readonly path: string;
  readonly files: Readonly<Record<string, string>>;
  /** Lines with an option, from 0. */
  readonly options: readonly number[];
}

/** Every flow of the repository that deploys: the example, the templates, and one for each option of the docs. */
const SAMPLES: readonly Sample[] = [kettleAndLeaf(), ...templates(), ...documented()].flatMap((files) =>
  Object.keys(files)
    .filter((path) => path.startsWith('flows/'))
    .map((path) => ({ path, files, options: optionLines(files[path] ?? '') })),
);

function templates(): Record<string, string>[] {
  const root = fileURLToPath(new URL('../../../templates', import.meta.url));
  return readdirSync(root).map((name) => {
    const folder = join(root, name);
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const paths = files.map((entry) => join(entry.parentPath, entry.name));
    return Object.fromEntries(
      paths.map((path) => [relative(folder, path).split(sep).join('/'), readFileSync(path, 'utf8')]),
    );
  });
}

/** The examples of docs/format/step-options.md, one for each option. */
function documented(): Record<string, string>[] {
  const page = readFileSync(fileURLToPath(new URL('../../../docs/format/step-options.md', import.meta.url)), 'utf8');
  const flows = [...page.matchAll(/^````markdown\n([\s\S]*?)^````$/gm)].map(([, text = '']) => text);
  const common = {
    'agents/worker.md': '---\ndescription: Works.\n---\n\nWork.',
    'agents/writer.md': '---\ndescription: Writes.\n---\n\nWrite.',
    'flows/printing.md': '## Print @worker\n\nPrint.',
  };
  const trees = flows.filter((text) => /^## /m.test(text)).map((text) => ({ ...common, 'flows/it.md': text }));
  return trees.filter((files) => check(files).workspace !== null);
}

/** Options stand right under a heading, behind blank lines. */
function optionLines(text: string): number[] {
  const lines = text.split('\n');
  return lines.flatMap((line, at) => {
    if (!/^- [a-z_]+: /.test(line)) return [];
    const above = lines.slice(0, at).findLast((other) => other !== '' && !other.startsWith('- '));
    return above?.startsWith('#') ? [at] : [];
  });
}

/** The flow with one option disturbed: where it stands, or moved below the text of its step. */
function disturbed(text: string, at: number, form: (option: string) => string, isMoved: boolean): string {
  const lines = text.split('\n');
  const written = form((lines[at] ?? '').slice(2));
  if (!isMoved) return lines.toSpliced(at, 1, written).join('\n');
  const next = lines.findIndex((line, index) => index > at && /^##/.test(line));
  const end = next < 0 ? lines.length : next;
  return [...lines.slice(0, at), ...lines.slice(at + 1, end), '', written, '', ...lines.slice(end)].join('\n');
}

const planOf = ({ path, files }: Sample, text: string) => {
  const { workspace, issues } = check({ ...files, [path]: text });
  return { plan: workspace?.plans[path.replace(/\.md$/, '')], issues };
};

const plansAsTheyAre = new Map<Sample, ReturnType<typeof planOf>>();
/** Checked once for each flow: the check of a whole tree is most of the cost of a case. */
function planAsItIs(sample: Sample): ReturnType<typeof planOf> {
  const plan = plansAsTheyAre.get(sample) ?? planOf(sample, sample.files[sample.path] ?? '');
  plansAsTheyAre.set(sample, plan);
  return plan;
}

test('an option of any flow, disturbed in any of these ways, is told or has its effect', () => {
  const places = SAMPLES.flatMap((sample) => sample.options.map((line) => ({ sample, line })));
  expect(places.length).toBeGreaterThan(80);
  const forms: typeof FORMS = { ...FORMS, ...WORD_FORMS, 'as it is': (option) => `- ${option}` };
  const property = fc.property(
    // An index, so that a counterexample is not the whole tree.
    fc.nat(places.length - 1),
    fc.constantFrom(...Object.keys(forms)),
    fc.boolean(),
    (index, form, isMoved) => {
      const { sample, line } = places[index] as (typeof places)[number];
      const text = sample.files[sample.path] ?? '';
      const after = disturbed(text, line, forms[form] ?? String, isMoved);
      const was = planAsItIs(sample);
      const is = planOf(sample, after);
      // What the file is warned of already is not news.
      if (is.issues.length <= was.issues.length) expect(is.plan, after).toEqual(was.plan);
    },
  );
  fc.assert(property, runs(50));
});

/** Ways in which a person writes a value that is nearly right. */
const VALUE_FORMS: Readonly<Record<string, (value: string) => string>> = {
  'in the plural': (v) => `${v}s`,
  'with one letter less': (v) => (/^[a-z]{5,}$/.test(v) ? `${v.slice(0, 3)}${v.slice(4)}` : `${v} or so`),
  'with a sign before it': (v) => `@${v}`,
  'about it': (v) => `about ${v}`,
  'at most it': (v) => `at most ${v}`,
  politely: (v) => `please ask ${v}`,
  'with an article': (v) => `the ${v}`,
  'with words behind it': (v) => `${v} before it goes out`,
  'with a remark': (v) => `${v} (see the table)`,
  'with a currency before it': (v) => `USD ${v}`,
  'with a currency behind it': (v) => `${v} dollars`,
  'with a foreign currency': (v) => `€${v.replace('$', '')}`,
  'with a unit in words': (v) =>
    v.replace(/([smhdw])$/, (unit) => ` ${{ s: 'seconds', m: 'minutes', h: 'hours', d: 'days', w: 'weeks' }[unit]}`),
};
/** Options that bound or gate by a value of a few words. */
const BOUNDS = /^- (?:approve|budget|timeout|max_rounds|need|remind|wait): (?!\[|\{|event)/;
const KEY_FORMS = [
  'with a capital',
  'in a numbered list',
  'behind a bullet sign',
  'with a bold key',
  'in a quote',
  'below the text',
];

test('a gate or a limit of any flow, its value disturbed in any of these ways, is told or has its effect', () => {
  const places = SAMPLES.flatMap((sample) => {
    const lines = (sample.files[sample.path] ?? '').split('\n');
    return sample.options.filter((at) => BOUNDS.test(lines[at] ?? '')).map((line) => ({ sample, line }));
  });
  expect(places.length).toBeGreaterThan(15);
  const forms: typeof FORMS = { ...FORMS, 'as it is': (option) => `- ${option}` };
  const property = fc.property(
    fc.nat(places.length - 1),
    fc.constantFrom(...Object.keys(VALUE_FORMS)),
    fc.constantFrom('as it is', ...KEY_FORMS),
    fc.boolean(),
    (index, valueForm, keyForm, isMoved) => {
      const { sample, line } = places[index] as (typeof places)[number];
      const text = sample.files[sample.path] ?? '';
      const form = (option: string) =>
        forms[keyForm]?.(option.replace(/(?<=: ).*$/, (value) => VALUE_FORMS[valueForm]?.(value) ?? value)) ?? option;
      const after = disturbed(text, line, form, isMoved);
      const was = planAsItIs(sample);
      const is = planOf(sample, after);
      if (is.issues.length <= was.issues.length) expect(is.plan, after).toEqual(was.plan);
    },
  );
  fc.assert(property, runs(50));
});

describe('prose is no option', () => {
  test.each([
    ['a list of checks', '- check: the order\n- when: the customer calls, be kind\n- budget: ask for it'],
    ['a list with words of the format', '- Approve only what is right\n- Wait for nothing\n- Retry with other words'],
    ['words without a value', '- approve\n- timeout\n- each order\n- edit the draft\n- when in doubt, ask'],
    [
      'fields of an answer',
      '- output: a table\n- approve: true or false\n- model: describe it\n- tools: what was used',
    ],
    ['types of fields', 'Answer with:\n\n- id: string\n- model: string\n- when: date\n- budget: number'],
    ['a sentence', 'Approve: only with care. Budget: what the customer said. Timeout: none.'],
    ['conditions in words', '- When: the order is late\n- Until: the customer answers\n- If input is empty, stop'],
    ['a numbered list', '1. Approve the order\n2. Wait 5 minutes\n3. Retry the payment\n4. Back to the start'],
    ['a document of another language', '```yaml example\ntimeout: 30s\n```\n\n```text\n- approve: human\n```'],
    ['a configuration', '```yaml\ntimeout: 30s\nretries: 3\nimage: node\n```'],
    ['a backslash before the mark', '\\- approve: human'],
    ['a comment', '<!-- - approve: human -->\n\nGo.'],
    ['a table', '| Field | Meaning |\n|---|---|\n| budget | what it costs |\n| approve | who signs |'],
    ['code in a sentence', 'Say that `approve: human` is an option, and `timeout: 2h` another.'],
    ['fields with a choice', '- self: true or false\n- approve: yes or no\n- tools: what, if any, was used'],
    ['an approver in a title of depth 4', '#### Approvers: the owner of the shop\n\nAsk.'],
    ['a table that is named', '- Look closely\n- Budget: see the table below\n- Approve: only what is right'],
    ['fields with a decider', '- approve: whether the owner has signed\n- budget: what the owner said'],
    ['steps without a colon', '- Approve the human resources form\n- Budget about the same as last year'],
    ['times and prices', 'The flight takes 2h and costs $500.\n\n- Seed: 2\n- Unit: 5\n- Width: 30'],
  ])('%s', (_what, text) => {
    // Right under the heading `- key: value` is an option, whatever it says.
    const isOption = /^- [a-z_]+:/.test(text) || text.includes('Budget: see');
    const bodies = [`Do this.\n\n${text}`, ...(isOption ? [] : [text])];
    for (const body of bodies) expect(issuesOf(`${FIRST}## Go @writer\n\n${body}`)).toEqual([]);
  });

  test.each([
    ['an example value in a list', 'Sum it up:\n\n- Customer: Ada\n- Budget: 500\n- Timeout: 2h'],
    ['a line of its own', 'Plan a trip.\n\nBudget: 500'],
    ['an exact line of its own', 'Plan a trip.\n\nbudget: 500'],
    ['a list of one', 'Plan a trip.\n\n- Budget: 500'],
    ['more than a value', 'Plan a trip.\n\n- Budget: 500 per person\n- Timeout: 30s max'],
    ['a wait in a list of prose', '1. Ask the customer\n2. Wait 2h\n3. Ask again'],
    ['a first paragraph', 'edit draft'],
    ['a fence behind prose', 'Write this:\n\n```yaml\ntimeout: 30s\nbudget: 5\n```'],
    ['a fence of data', '```\n{\n  "id": 1,\n  "approve": "human",\n  "tools": ["a", "b"]\n}\n```'],
    ['a fence with a document', '```markdown\n## Pay @writer\n\n- approve: human\n\nPay.\n```'],
    ['a heading', 'Plan a trip.\n\n#### Budget: 500\n\nGo.'],
  ])('that could be one is warned of: %s', (_what, text) => {
    const issues = issuesOf(`${FIRST}## Go @writer\n\n${text}`);
    expect(issues.length).toBeGreaterThan(0);
    expect(new Set(issues.map(({ severity }) => severity))).toEqual(new Set(['warning']));
  });
});
