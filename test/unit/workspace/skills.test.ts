import { expect, test } from 'vitest';
import { SKILL_SAMPLES } from './skill-samples.js';
import { check } from './tree.js';

const skillsOf = (files: Readonly<Record<string, string>>, agent = 'agents/a.md') => {
  const { workspace, issues } = check({ ...files, [agent]: files[agent] ?? 'Be.' });
  return { issues, skills: workspace?.plans['agents/a']?.agents.a?.skills };
};

test.each(SKILL_SAMPLES)(
  '$what: the skill is loaded, and what the reference validator refuses is warned of',
  (sample) => {
    const path = `skills/${sample.folder}/SKILL.md`;
    const { issues, skills } = skillsOf({ [path]: sample.text });
    expect(issues.map(({ code }) => code)).toEqual(sample.warns);
    expect(issues.every((issue) => issue.severity === 'warning' && issue.path === path)).toBe(true);
    expect(skills).toMatchObject([{ name: sample.folder, description: sample.reads, path }]);
    // A byte order mark is what an editor leaves: it is read over, and told to nobody.
    if (sample.what !== 'a BOM') expect(issues.length === 0).toBe(sample.valid);
  },
);

test('a skill without a description, and frontmatter that is not closed, are refused at their place', () => {
  const faults = (text: string) =>
    check({ 'skills/a/SKILL.md': text }).issues.map(({ line, code, severity }) => [line, code, severity]);
  expect(faults('---\nname: a\ndescription:\n---\n')).toEqual([[3, 'skill/bad-value', 'error']]);
  expect(faults('---\nname: a\ndescription: D.\n')).toEqual([[1, 'yaml/unclosed', 'error']]);
  expect(faults('# Only text\n').map(([, code]) => code)).toEqual(['skill/bad-name', 'skill/bad-value']);
});

test('of four places the nearest wins, and `skills:` narrows to those named', () => {
  const skill = (from: string) => `---\nname: s\ndescription: From ${from}.\n---\n`;
  const places = {
    '.agents/skills/s/SKILL.md': skill('clients'),
    'skills/s/SKILL.md': skill('workspace'),
    'agents/a/skills/s/SKILL.md': skill('agent'),
    'skills/other/SKILL.md': '---\nname: other\ndescription: Other.\n---\n',
  };
  const own = 'agents/a/agent.md';
  const of = (files: Record<string, string>) => skillsOf({ [own]: 'Be.', ...files }, own).skills;
  const all = ['other: Other.', 's: From agent.'];
  const told = (files: Record<string, string>) => of(files)?.map(({ name, description }) => `${name}: ${description}`);
  expect(told(places)).toEqual(all);
  const { 'agents/a/skills/s/SKILL.md': _own, ...shared } = places;
  expect(told(shared)).toEqual(['other: Other.', 's: From workspace.']);
  const { 'skills/s/SKILL.md': _shared, ...clients } = shared;
  expect(told(clients)).toEqual(['other: Other.', 's: From clients.']);
  expect(told({ ...places, [own]: '---\nskills: [s]\n---\nBe.' })).toEqual(['s: From agent.']);
  expect(told({ ...places, [own]: '---\nskills: []\n---\nBe.' })).toEqual([]);
});

test('a file that is called skill.md is read, as other clients do', () => {
  const text = '---\nname: s\ndescription: Does S.\n---\nGo.\n';
  for (const path of ['skills/s/skill.md', 'agents/a/skills/s/Skill.md', '.agents/skills/s/skill.md']) {
    const { issues, skills } = skillsOf({ 'agents/a/agent.md': 'Be.', [path]: text }, 'agents/a/agent.md');
    expect([path, issues, skills?.map(({ name }) => name)]).toEqual([path, [], ['s']]);
  }
});

test.each([
  ['skills/group/s/SKILL.md', 'skills/group', 'move it to `skills/s/SKILL.md`'],
  ['agents/a/skills/group/deep/s/skill.md', 'agents/a/skills/group', 'move it to `agents/a/skills/s/SKILL.md`'],
  ['skills/s/SKILLS.md', 'skills/s', 'SKILL.md'],
])('a folder that looks like a skill and is none (%s) is warned of, with where it belongs', (path, folder, hint) => {
  const files = {
    'agents/a/agent.md': 'Be.',
    [path]: '---\nname: s\ndescription: Does S.\n---\n',
    'AGENTS.md': '# W\n',
  };
  expect(check(files).issues).toMatchObject([
    {
      path,
      code: 'tree/unknown-path',
      severity: 'warning',
      message: `\`${folder}/\` has no SKILL.md, so no agent has this skill.`,
      hint: expect.stringContaining(hint),
    },
  ]);
});

test('a skill may keep the SKILL.md of another one among its files', () => {
  const text = '---\nname: s\ndescription: Does S.\n---\n';
  const files = { 'skills/s/SKILL.md': text, 'skills/s/examples/t/SKILL.md': 'x', 'AGENTS.md': '# W\n' };
  expect(check(files).issues).toEqual([]);
});
