const LONG = 'x'.repeat(1_025);

/** A SKILL.md in its folder, what the reference validator says of it, and what we warn of. */
export interface SkillSample {
  readonly what: string;
  readonly folder: string;
  readonly text: string;
  /** The verdict of `agentskills validate` (skills-ref 0.1.1), recorded. */
  readonly valid: boolean;
  /** Our warnings, in order; what the skill's description is read as. */
  readonly warns: readonly string[];
  readonly reads: string;
}

type Row = readonly [
  what: string,
  folder: string,
  text: string,
  valid: boolean,
  warns: readonly string[],
  reads: string,
];

const ROWS: readonly Row[] = [
  ['the least', 'a', '---\nname: a\ndescription: D.\n---\nDo.\n', true, [], 'D.'],
  [
    'every key',
    'pdf-2',
    '---\nname: pdf-2\ndescription: D.\nlicense: MIT\ncompatibility: Needs git.\nmetadata:\n  author: me\nallowed-tools: Bash(git:*) Read\n---\nDo.\n',
    true,
    [],
    'D.',
  ],
  ['a block text', 'a', '---\nname: a\ndescription: >\n  One\n  two.\n---\n', true, [], 'One two.'],
  ['CRLF', 'a', '---\r\nname: a\r\ndescription: D.\r\n---\r\nDo.\r\n', true, [], 'D.'],
  ['a number as a text', 'a', '---\nname: a\ndescription: 2024\n---\n', true, [], '2024'],
  ['no name', 'a', '---\ndescription: D.\n---\n', false, ['skill/bad-name'], 'D.'],
  ['another name', 'a', '---\nname: b\ndescription: D.\n---\n', false, ['skill/bad-name'], 'D.'],
  [
    'a long name',
    'n'.repeat(65),
    `---\nname: ${'n'.repeat(65)}\ndescription: D.\n---\n`,
    false,
    ['skill/bad-name', 'skill/bad-name'],
    'D.',
  ],
  ['capitals', 'Big', '---\nname: Big\ndescription: D.\n---\n', false, ['skill/bad-name'], 'D.'],
  ['an underscore', 'a_b', '---\nname: a_b\ndescription: D.\n---\n', false, ['skill/bad-name'], 'D.'],
  ['two hyphens', 'a--b', '---\nname: a--b\ndescription: D.\n---\n', false, ['skill/bad-name'], 'D.'],
  ['a long description', 'a', `---\nname: a\ndescription: ${LONG}\n---\n`, false, ['skill/bad-value'], LONG],
  [
    'a long compatibility',
    'a',
    `---\nname: a\ndescription: D.\ncompatibility: ${LONG}\n---\n`,
    false,
    ['skill/bad-value'],
    'D.',
  ],
  ['another key', 'a', '---\nname: a\ndescription: D.\nversion: 1\n---\n', false, ['skill/unknown-key'], 'D.'],
  ['a typo', 'a', '---\nname: a\ndescription: D.\nlicence: MIT\n---\n', false, ['skill/unknown-key'], 'D.'],
  ['a colon', 'a', '---\nname: a\ndescription: Use when: asked\n---\n', false, ['skill/bad-value'], 'Use when: asked'],
  [
    'a colon and more lines',
    'a',
    '---\nname: a\ndescription: Use when: asked\n  and not before\nlicense: "MIT: yes"\n---\n',
    false,
    ['skill/bad-value'],
    'Use when: asked and not before',
  ],
  [
    'a colon in a block beside',
    'a',
    '---\nname: a\ndescription: |\n  One: two\nlicense: x: y\r\n---\n',
    false,
    ['skill/bad-value'],
    'One: two',
  ],
  ['a BOM', 'a', '\uFEFF---\nname: a\ndescription: D.\n---\n', false, [], 'D.'],
];

export const SKILL_SAMPLES: readonly SkillSample[] = ROWS.map(([what, folder, text, valid, warns, reads]) => ({
  what,
  folder,
  text,
  valid,
  warns,
  reads,
}));
