import { didYouMean } from '../../shared/closest.js';
import type { Prose } from '../parse/prose.js';
import type { ReadFile } from '../parse/read-file.js';
import { type Catalog, LIBRARY } from '../resolve/catalog.js';
import { isHeading } from '../resolve/heading-slug.js';
import { type PathIndex, pathIndex, resolveLink } from '../resolve/link-target.js';
import type { Report } from './report.js';

interface Links {
  readonly catalog: Catalog;
  readonly tree: PathIndex;
  readonly live: PathIndex;
  readonly report: Report;
}

/** Checks every `[[…]]` in all texts that reach a model. */
export function checkLinks(catalog: Catalog, livePaths: readonly string[], report: Report): void {
  const links: Links = { catalog, tree: pathIndex(catalog.paths), live: pathIndex(livePaths), report };
  for (const file of catalog.read) {
    const { model } = file;
    if (model?.kind === 'workspace') checkProse(links, file, { prose: model.instructions });
    if (model?.kind === 'agent') checkProse(links, file, { prose: model.prompt, agent: model.name });
    if (model?.kind !== 'flow') continue;
    checkProse(links, file, { prose: model.brief });
    for (const node of model.nodes) {
      if (node.kind === 'group') checkProse(links, file, { prose: node.preface });
      for (const step of node.kind === 'group' ? node.branches : [node]) {
        checkProse(links, file, { prose: step.instruction, agent: step.agent?.name });
      }
    }
  }
}

function checkProse(
  links: Links,
  file: ReadFile,
  { prose, agent }: { prose: Prose; agent?: string | undefined },
): void {
  for (const { kind, text, offset } of prose.marks) {
    if (kind !== 'link') continue;
    const [, target = '', heading] = /^([^#|]*)(?:#([^|]*))?/.exec(text.replace(/\s+/g, ' ')) ?? [];
    checkLink(links, file, { target: target.trim(), heading: heading?.trim(), agent, offset });
  }
}

interface Link {
  readonly target: string;
  readonly heading: string | undefined;
  readonly agent: string | undefined;
  readonly offset: number;
}

function checkLink(links: Links, file: ReadFile, { target, heading, agent, offset }: Link): void {
  const { tree, live, report, catalog } = links;
  const found = resolveLink(tree, live, { target, agent });
  if (found.kind === 'outside') {
    const message = `\`[[${target}]]\`: a link leads into knowledge/, memory/, state/, storage/, files/ or outputs/.`;
    report(file, offset, { code: 'ref/document', message, hint: () => nearDocument(links, target) });
  } else if (found.kind === 'missing') {
    const fault = {
      code: 'ref/document',
      message: `\`[[${target}]]\`: there is no such document.`,
      hint: () => nearDocument(links, target),
    };
    report(file, offset, found.severity === 'error' ? fault : { ...fault, severity: 'warning' });
  } else if (found.kind === 'file' && heading) {
    const document = catalog.documents.get(found.path)?.model;
    if (document === undefined || document.headings.some((known) => isHeading(known, heading))) return;
    const message = `\`${found.path}\` has no heading \`${heading}\`.`;
    const fault = { code: 'ref/document', message, hint: () => didYouMean(heading, document.headings) };
    report(file, offset, found.path.startsWith('memory/') ? { ...fault, severity: 'warning' } : fault);
  }
}

/** A suggestion: a document of nearly this name, or of this name in another folder. */
function nearDocument({ catalog }: Links, target: string): string | undefined {
  const plain = target.replace(/\.md$/, '').replace(/\/+$/, '');
  const known = [...catalog.documents.keys()].map((path) => path.replace(LIBRARY, '').replace(/\.md$/, ''));
  const elsewhere = known.find((path) => path.endsWith(`/${plain}`));
  return elsewhere === undefined ? didYouMean(plain, known) : `Did you mean \`${elsewhere}\`?`;
}
