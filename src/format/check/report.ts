import type { Issue } from '../model.js';
import type { ReadFile } from '../parse/read-file.js';
import { type Fault, report as reportIn } from '../parse/source.js';

/** Reports a fault at a place of a file. */
export type Report = (file: ReadFile, offset: number, fault: Fault) => void;

/** Collects the faults of the tree's checks in one list per file, so that no file can crowd out another. */
export function reporter(lists: Map<string, Issue[]>): Report {
  return ({ source }, offset, fault) => {
    const issues = lists.get(source.path) ?? [];
    lists.set(source.path, issues);
    reportIn({ source, issues }, offset, fault);
  };
}
