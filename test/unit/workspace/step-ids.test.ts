import { expect, test } from 'vitest';
import type { Checked, StepPlan } from '../../../src/format/index.js';
import { foldStepId, oldStepId } from '../../../src/format/parse/step-id.js';
import { fc } from '../../support/properties.js';
import { check } from './tree.js';

test.each([
  ['Prüfen', 'pruefen', 'prufen'],
  ['PRÜFEN', 'pruefen', 'prufen'],
  ['Pru\u0308fen', 'pruefen', 'prufen'],
  ['Maße prüfen', 'masse_pruefen', 'ma_e_prufen'],
  ['GROẞ', 'gross', 'gro'],
  ['Ändern', 'aendern', 'andern'],
  ['A\u0308ndern', 'aendern', 'andern'],
  ['Größe', 'groesse', 'gro_e'],
  ['Öffnen', 'oeffnen', 'offnen'],
  ['Ærø', 'aeroe', 'r'],
  ['Godkjenn søknad', 'godkjenn_soeknad', 'godkjenn_s_knad'],
  ['Åpne', 'aapne', 'apne'],
  ['A\u030apne', 'aapne', 'apne'],
  ['\u212bngström', 'aangstroem', 'angstrom'],
  ['Œuvre, bœuf', 'oeuvre_boeuf', 'uvre_b_uf'],
  ['ǽ ǿ ǖ', 'ae_oe_ue', 'u'],
  ['2 Prüfungen', 'step_2_pruefungen', 'step_2_prufungen'],
  ['Übergröße: 3 × „ß“', 'uebergroesse_3_ss', 'ubergro_e_3'],
  // No valid id before.
  ['ß', 'ss', undefined],
  ['Nüll', 'nuell', undefined],
  // Everything else as before.
  ['Ñandú, naïve Ëxté', 'nandu_naive_exte', undefined],
  ['Kůň', 'kun', undefined],
  ['Łódź', 'odz', undefined],
  ['ﬁnal ²', 'final_2', undefined],
  ['日本', '', undefined],
  ['Trü', 'tru', undefined],
])('the title %j has the id %j, and earlier %j', (title, id, old) => {
  expect([foldStepId(title), oldStepId(title)]).toEqual([id, old]);
});

test('a title that fits an id only in the shorter spelling keeps it', () => {
  expect(foldStepId('ü'.repeat(50))).toBe('ue'.repeat(50));
  expect([foldStepId('ü'.repeat(51)), oldStepId('ü'.repeat(51))]).toEqual(['u'.repeat(51), undefined]);
});

test('the composed and the decomposed form of a title have one id, in either case', () => {
  const letters = fc.string({ unit: fc.constantFrom(...'aouÄÖÜäöüåÅøØæÆœŒ -3\u0308\u030a'), maxLength: 40 });
  fc.assert(
    fc.property(letters, (title) => {
      expect(foldStepId(title.normalize('NFD'))).toBe(foldStepId(title.normalize('NFC')));
      expect(foldStepId(title.toUpperCase())).toBe(foldStepId(title.toLowerCase()));
    }),
  );
});

const AGENTS = { 'agents/writer.md': '---\ndescription: Writes.\n---\n\nWrite.' };
const FLOW = `---
trigger: manual
---

The brief sees {{steps.gro_e.result}}.

## Größe @writer

- output: json

Measure.

## Prüfung

Before the branches: {{ steps.gro_e.data.n }}.

### Übersicht @writer

- output: json
- when: steps.gro_e.data.n > 1 && steps["gro_e"].status != 'failed' && 'steps.gro_e' != ''

{{steps.gro_e.result}}

### Maße @writer

- each: steps.gro_e.data.list.filter(gro_e, gro_e > steps [ 'gro_e' ] . data.n)
- as: one

{{one}}

## Lösen @writer

- when: has(steps.ubersicht.result) && steps.prufung.status == 'completed'
- until: self.result == 'x' || steps.losen.result == steps.ubersicht.result
- back_to: prufung
- max_rounds: 2
- on_fail: gro_e

Solve.

## Übergabe

- subflow: andere
- with: { a: "{{ steps.losen.result }}", b: ["{{steps.gro_e.data}} and {{input}}"] }

## Freigäbe @writer

- approve: human
- edit: [losen, ma_e]
- on_reject: losen
- on_timeout: prufung
- max_rounds: 2

Ask.
`;
const OTHER = '## Zählen @writer\n\nCount.\n\n## Öffnen\n\n- approve: human\n\nOpen?\n';
const NEW_FLOW = FLOW.replaceAll(/gro_e(?=[.\]"'])(?!' != '')/g, 'groesse')
  .replaceAll(/\bgro_e$/gm, 'groesse')
  .replaceAll('ubersicht', 'uebersicht')
  .replaceAll('prufung', 'pruefung')
  .replaceAll('losen', 'loesen')
  .replace('ma_e', 'masse');
const ok = ({ workspace, issues }: Checked) => {
  if (!workspace) throw new Error(JSON.stringify(issues, null, 1));
  return workspace;
};
const FILES = { ...AGENTS, 'flows/f.md': FLOW, 'flows/andere.md': OTHER };

test('a flow that uses old ids has the plan of one that uses those of today', () => {
  expect(NEW_FLOW).toContain("steps [ 'groesse' ] . data");
  const [old, now] = [FILES, { ...FILES, 'flows/f.md': NEW_FLOW }].map((files) => ok(check(files)).plans['flows/f']);
  expect(JSON.stringify(now)).not.toMatch(/steps\W*(?:gro_e\W*\.|ubersicht|prufung|losen)/);
  expect(old).toEqual(now);
});

const nodeOf = (files: Readonly<Record<string, string>>, at: number) =>
  ok(check({ ...AGENTS, ...files })).plans['flows/f']?.nodes[at] as StepPlan;
const step = (title: string, ...options: string[]) =>
  `## ${title} @writer\n\n${options.map((option) => `- ${option}\n`).join('')}\n${title}.\n\n`;

test('an old id that is the id of another step means that step', () => {
  const text = step('Prüfen') + step('Prufen') + step('C', "when: steps.prufen.result == 'x'");
  expect(nodeOf({ 'flows/f.md': text }, 2).when).toBe("steps.prufen.result == 'x'");
  expect([nodeOf({ 'flows/f.md': text }, 0).oldId, nodeOf({ 'flows/f.md': text }, 0).id]).toEqual([
    undefined,
    'pruefen',
  ]);
  const own = step('Prüfen', 'id: check') + step('C', "when: steps.prufen.result == 'x'");
  expect(check({ ...AGENTS, 'flows/f.md': own }).issues.map(({ code }) => code)).toEqual(['step/unknown-step']);
});

test('an old id of two steps means neither', () => {
  const text = step('Køb') + step('Kæb') + step('C', "when: steps.k_b.result == 'x'", 'on_fail: k_b', 'max_rounds: 1');
  const { issues } = check({ ...AGENTS, 'flows/f.md': text });
  expect(issues.map(({ code }) => code)).toEqual(['step/unknown-step', 'step/unknown-step']);
});

test('an old id in a spelling that cannot be replaced is refused with the id of today', () => {
  const text = step('Prüfen') + step('C', "when: (steps).prufen.result == 'x' && steps[r'prufen'].result == 'x'");
  const { issues } = check({ ...AGENTS, 'flows/f.md': text });
  expect(issues.map(({ code, hint }) => [code, hint])).toEqual([['step/unknown-step', 'Did you mean `pruefen`?']]);
});

test.each([
  [`'prufen' in steps`, `'pruefen' in steps`],
  [`!("prufen" in steps) || 'prufen' in steps`, `!("pruefen" in steps) || 'pruefen' in steps`],
  [`'prufen' in steps && input.a == 'prufen'`, `'pruefen' in steps && input.a == 'prufen'`],
  [`'prufen' in ['a'] || steps["prufen"].result == ''`, `'prufen' in ['a'] || steps["pruefen"].result == ''`],
])('an old id whose step is looked for is replaced: %s', (old, now) => {
  const flows = { 'flows/f.md': step('Prüfen') + step('C', `when: ${old}`) };
  expect(nodeOf(flows, 1).when).toBe(now);
});

test.each([
  [`['prufen'].exists(s, s in steps)`, ['step/old-id']],
  [`steps.exists(s, s == 'prufen')`, ['step/old-id']],
  [`has(steps[input.a == '' ? 'prufen' : 'c'].result)`, ['step/old-id']],
  [`r'prufen' in steps`, ['step/old-id']],
  [`input.a == 'prufen' && steps.pruefen.result != ''`, []],
  [`input.a == 'other' && 'pruefen' in steps`, []],
  [`size(steps) > 2 && input.a == 'prufen'`, []],
  [`size(steps) > 2 && 'prufen' != input.a.b[0]`, []],
  [`size(steps) > 2 && (input.a in ['other', 'prufen'] || 'prufen' in input.list)`, []],
  [`size(steps) > 2 && input.list.exists(item, item == 'prufen' || item.kind == 'prufen')`, []],
  [`steps.exists(s, steps[s].result == 'prufen') || steps.pruefen.result == 'prufen' && size(steps) > 2`, []],
  [`steps.exists(s, input.a == 'prufen' || s == 'prufen')`, ['step/old-id']],
  [`steps.exists(s, s in ['prufen', 'c'])`, ['step/old-id']],
  [`steps.filter(s, s != '').exists(s, s == 'prufen')`, ['step/old-id']],
  [`steps.exists(s, s == (input.a == 'x' ? 'prufen' : 'c'))`, ['step/old-id']],
])('an old id that cannot be replaced, since it is computed, is a warning: %s', (when, codes) => {
  const { workspace, issues } = check({ ...AGENTS, 'flows/f.md': step('Prüfen') + step('C', `when: ${when}`) });
  expect(issues.filter(({ code }) => code === 'step/old-id').map(({ code }) => code)).toEqual(codes);
  expect(issues.every(({ severity }) => severity === 'warning')).toBe(true);
  if (codes.length > 0) expect(issues[0]?.hint).toBe('Write `pruefen`, or add `- id: prufen` to the step.');
  expect(workspace).not.toBeNull();
});

test('the word of a jump and an item that is called steps are no old ids', () => {
  const compared = "when: size(steps) > 2 || steps.exists(s, s == 'stoep' || s == 'stop')";
  const text = step('Stöp') + step('B', 'on_fail: stop') + step('C', 'each: input.list', 'as: steps', compared);
  const item = text.replace(/C\.\n/, '{{steps.stop.x}}\n');
  expect(check({ ...AGENTS, 'flows/f.md': item }).issues).toEqual([]);
  expect(nodeOf({ 'flows/f.md': item }, 1).onFail).toBe('stop');
  expect(nodeOf({ 'flows/f.md': item }, 2).instruction).toEqual([{ kind: 'value', path: 'steps.stop.x' }]);
});

test('two titles that now have one id are refused with the way to keep both', () => {
  const { issues } = check({ ...AGENTS, 'flows/f.md': step('Maße') + step('Masse') });
  expect(issues.map(({ code, line, hint }) => [code, line, hint])).toEqual([
    [
      'step/duplicate-id',
      6,
      'Earlier versions gave “Maße” the id `ma_e`: write `- id: ma_e` below it to keep that, or give one of them another title.',
    ],
  ]);
});

test('an eval names steps by their old ids, in subflows too', () => {
  const eval_ = (ids: { a: string; b: string; c: string }) => `---
target: flows/f
---

## One

Go.

### Decisions

- ${ids.a}/${ids.b}: approve

### Expect

- step(${ids.c}): status: completed
- step(${ids.a}/${ids.b}): cel: decision != null && steps.${ids.c}.status == 'completed'
- cel: steps["${ids.c}"].result == 'steps.prufen'
- parked-at: ${ids.a}/${ids.b}
- the step steps.prufen is well done
`;
  const flows = { 'flows/f.md': `${step('Prüfen')}## Übergabe\n\n- subflow: andere\n`, 'flows/andere.md': OTHER };
  const evals = (ids: { a: string; b: string; c: string }) =>
    ok(check({ ...AGENTS, ...flows, 'evals/e.md': eval_(ids) })).evals;
  expect(evals({ a: 'ubergabe', b: 'offnen', c: 'prufen' })).toEqual(
    evals({ a: 'uebergabe', b: 'oeffnen', c: 'pruefen' }),
  );
  expect(evals({ a: 'ubergabe', b: 'offnen', c: 'prufen' })[0]?.cases[0]?.decisions[0]?.step).toBe('uebergabe/oeffnen');
});
