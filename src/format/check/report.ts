import type { Issue } from '../model.js';
import type { ReadFile } from '../parse/read-file.js';
import { type Fault, report as reportIn } from '../parse/source.js';

/** Says what is wrong at a place of a file that was read. */
export type Report = (file: ReadFile, offset: number, fault: Fault) => void;

/** Collects what the tree's checks say, a list a file, so that no file can crowd out another. */
export function reporter(lists: Map<string, Issue[]>): Report {
  return ({ source }, offset, fault) => {
    const issues = lists.get(source.path) ?? [];
    lists.set(source.path, issues);
    reportIn({ source, issues }, offset, fault);
  };
}
