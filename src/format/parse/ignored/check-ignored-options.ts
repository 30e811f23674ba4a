import { CASE_OPTIONS, EVAL_KEYS } from '../keys/eval-keys.js';
import { FLOW_KEYS } from '../keys/flow-keys.js';
import { type Block, start } from '../markdown.js';
import { isComment } from '../options.js';
import { type Findings, report, type Source } from '../source.js';
import { GROUP_OPTIONS, STEP_OPTIONS } from '../step-options.js';
import { type KnownKeys, knownKeys } from './known-keys.js';
import { type OptionLike, type OptionScan, readOptionLike } from './option-like.js';
import { groupsOf, type TextGroup } from './text-lines.js';

const STEP_KEYS = knownKeys(STEP_OPTIONS, GROUP_OPTIONS);
const CASE_KEYS = knownKeys(CASE_OPTIONS);
const BRIEF_KEYS = knownKeys(FLOW_KEYS, STEP_OPTIONS);
const PREFACE_KEYS = knownKeys(EVAL_KEYS, CASE_OPTIONS);

interface Body {
  readonly blocks: readonly Block[];
  /** The list of options, and blocks that are read as schemas. */
  readonly read: readonly Block[];
}

/** Where options of this kind belong. */
interface Home {
  readonly keys: KnownKeys;
  readonly code: string;
  readonly where: string;
  /** Options are read from the first list of such a text. */
  readonly holdsOptions: boolean;
}

const IN_LIST = 'in the list right under the heading';
const HOMES = {
  step: { keys: STEP_KEYS, code: 'step/option-ignored', where: IN_LIST, holdsOptions: true },
  case: { keys: CASE_KEYS, code: 'step/option-ignored', where: IN_LIST, holdsOptions: true },
  brief: {
    keys: BRIEF_KEYS,
    code: 'flow/key-ignored',
    where: 'in the frontmatter, or under the heading of a step',
    holdsOptions: false,
  },
  preface: {
    keys: PREFACE_KEYS,
    code: 'eval/key-ignored',
    where: 'in the frontmatter, or under the heading of a case',
    holdsOptions: false,
  },
} satisfies Record<string, Home>;

/** Reports lines of text that look like options of a step, a group, a case or a file, and are read as text. */
export function checkIgnoredOptions(findings: Findings, kind: keyof typeof HOMES, { blocks, read }: Body): void {
  const text = blocks.filter((block) => !isComment(block));
  for (const [index, block] of text.entries()) {
    if (read.includes(block)) continue;
    const before = text[index - 1];
    const isFirst = before === undefined || read.includes(before);
    for (const group of groupsOf(findings.source, block)) checkGroup(findings, { group, home: HOMES[kind], isFirst });
  }
}

/** Maximum number of lines of one file to examine: real files have fewer lines that begin with an option's name. */
const MOST_LINES = 2_000;
const scans = new WeakMap<Source, Map<KnownKeys, OptionScan>>();

function scanOf(source: Source, keys: KnownKeys): OptionScan {
  const known = scans.get(source) ?? new Map<KnownKeys, OptionScan>();
  scans.set(source, known);
  const scan = known.get(keys) ?? { keys, left: MOST_LINES };
  known.set(keys, scan);
  return scan;
}

interface Place {
  readonly group: TextGroup;
  readonly home: Home;
  /** True at the place where options are read. */
  readonly isFirst: boolean;
}

function checkGroup(findings: Findings, { group, home, isFirst }: Place): void {
  const scan = scanOf(findings.source, home.keys);
  const found = group.lines.map((line) => ({ line, option: readOptionLike(line.text, scan) }));
  const isAlone = found.every(({ option }) => option !== null && option.fit !== 'no');
  const isAllKeys = found.every(({ option }) => option?.hasSeparator);
  const holdsGate = found.some(({ line, option }) => option !== null && isGate(option, line.text));
  const isMixed = group.isCode && !isAlone;
  if (isMixed && !found.some(({ option }) => option?.known.isRisky && option.fit === 'strong')) return;
  const isExample = group.isCode && (isMixed ? !holdsGate || group.lines.some(isHeadingLine) : !isFirst && !holdsGate);
  for (const { line, option } of found) {
    if (option === null) continue;
    const isListed = line.isItem || option.hasMark;
    const isInPlace = home.holdsOptions && isFirst && line.isItem && !group.isCode;
    const byKey = severityOfKey(option, { isInPlace, isAllKeys, isListed });
    const byValue = severityOf(option, { isFirst, isAlone, isListed });
    const severity = byKey === 'error' ? byKey : (byValue ?? byKey);
    if (severity === null) continue;
    reportIgnored(findings, line.offset, { option, home, severity: isExample ? 'warning' : severity });
  }
}

/**
 * True for a line that shows that a code block is not just an example. Data in JSON and lists of names often are
 * examples.
 */
function isGate({ known, fit, meant, isExact, isPart }: OptionLike, text: string): boolean {
  if (!known.isRisky || fit !== 'strong' || (isPart && !isExact) || /^\s*["'{]/.test(text)) return false;
  return known.key === 'approve' || !/: [[{]/.test(meant);
}

/** A code block with a heading shows a whole document. */
function isHeadingLine({ text }: { readonly text: string }): boolean {
  return /^\s*##+[ \t]/.test(text);
}

const TO_MEAN_TEXT = 'To mean the text, put a backslash before the list mark, or use a `text` code block';

function reportIgnored(
  findings: Findings,
  offset: number,
  { option, home, severity }: { option: OptionLike; home: Home; severity: 'error' | 'warning' },
): void {
  const message = `This looks like the option \`${option.known.key}\`, but is read as text.`;
  const hint = `${toBeRead(option, home)} ${TO_MEAN_TEXT}.`;
  const fault = { code: home.code, message, hint };
  report(findings, offset, severity === 'warning' ? { ...fault, severity } : fault);
}

function toBeRead({ known, fit, meant }: OptionLike, home: Home): string {
  if (fit !== 'no') return `Write \`- ${shortened(meant)}\` ${home.where}.`;
  const value = meant.slice(known.key.length + 2);
  const fault = known.faultOf(value) || `${shortened(JSON.stringify(value))} does not fit.`;
  return `Write it as \`- ${known.key}: …\` ${home.where}. ${fault}`;
}

const MAX_HEADING = 300;
const IN_HEADING = /(?:^|[\s([{|,;–—-])([A-Za-z][\w-]*\s*[:=]\s*[^\s)\]}][^)\]}]*)/g;

/** Reports options in headings, which are not read: `## Sign (approve: human)`. */
export function checkHeadingText(findings: Findings, title: string, offset: number): void {
  for (const [, text = ''] of title.slice(0, MAX_HEADING).matchAll(IN_HEADING)) {
    const scan = scanOf(findings.source, STEP_KEYS);
    const option = readOptionLike(text.replace(/\s*@[\w.-]+\s*$/, ''), scan);
    if (option === null || !option.known.isRisky || option.fit !== 'strong') continue;
    // `## Approve: human review` is a title.
    if (option.isPart && !option.isExact) continue;
    reportIgnored(findings, offset, { option, home: HOMES.step, severity: 'error' });
  }
}

const ALMOST_SCHEMA = /^(?:ya?ml|json|pico)?[^a-z]*(schema|form)s?[^a-z]*$/i;

/** Reports a code block that was meant as a schema or a form, since it has no effect. */
export function checkIgnoredSchemas(findings: Findings, blocks: readonly Block[], read: readonly Block[]): void {
  const waiting = [...blocks];
  for (let block = waiting.pop(); block; block = waiting.pop()) {
    if ('children' in block) waiting.push(...(block.children as Block[]));
    if (block.type !== 'code' || read.includes(block)) continue;
    const use = ALMOST_SCHEMA.exec([block.lang, block.meta].filter(Boolean).join(' '))?.[1]?.toLowerCase();
    if (use === undefined) continue;
    const message = `This looks like a ${use}, but is read as text.`;
    const hint = `Begin the block with \`\`\`yaml ${use}, outside lists and quotes.`;
    report(findings, start(block), { code: 'step/option-ignored', message, hint });
  }
}

interface Seen {
  readonly isFirst: boolean;
  /** True if all lines of the group look like options. */
  readonly isAlone: boolean;
  readonly isListed: boolean;
}

/** A weak value of these keys, after a colon, is rarely prose. */
const GATE_KEYS: ReadonlySet<string> = new Set(['approve', 'when', 'need']);

/** An error only if prose is unlikely; null if an option without risk is probably prose. */
function severityOf(option: OptionLike, { isFirst, isAlone, isListed }: Seen): 'error' | 'warning' | null {
  const { known, fit, isExact, hasSeparator, isPart } = option;
  if (fit === 'no') return null;
  const isClear = (isExact && (isListed || isAlone)) || (isAlone && (isListed || isFirst));
  if (!known.isRisky) return isClear ? 'warning' : null;
  if (fit === 'strong' || (isExact && isListed)) return 'error';
  if (isPart) return 'warning';
  const isInPlace = isFirst && isAlone && (isListed || hasSeparator);
  const isGateLine = GATE_KEYS.has(known.key) && hasSeparator && (isAlone || isListed || isExact);
  return isInPlace || isGateLine ? 'error' : 'warning';
}

interface KeySeen {
  /** True for an item of the list from which options are read. */
  readonly isInPlace: boolean;
  /** True if all lines of the group are a key and a value. */
  readonly isAllKeys: boolean;
  readonly isListed: boolean;
}

/** Prose begins with these verbs too, and without them no gate, limit, condition or secret is lost. */
const VERBS: ReadonlySet<string> = new Set(['retry', 'edit']);

/**
 * The severity by the key alone, whatever its value. In the place of options every key counts, elsewhere only keys that
 * are unlikely in prose.
 */
function severityOfKey(
  { known, isExact }: OptionLike,
  { isInPlace, isAllKeys, isListed }: KeySeen,
): 'error' | 'warning' | null {
  if (isInPlace && isAllKeys) return known.isRisky && !VERBS.has(known.key) ? 'error' : 'warning';
  if (!known.isRisky || known.isExpression) return null;
  return isInPlace || (isExact && isListed && known.key.includes('_')) ? 'warning' : null;
}

function shortened(text: string): string {
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}
