/** A heading's anchor as code hosts write it: lower case, hyphens for blanks, other signs dropped. */
export function headingSlug(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, '')
    .replace(/\s/g, '-');
}

/** True if `#wanted` of a link means this heading: by its text, or by its slug. */
export function isHeading(heading: string, wanted: string): boolean {
  const text = (value: string) => value.trim().replace(/\s+/g, ' ').toLowerCase();
  return text(heading) === text(wanted) || headingSlug(heading) === headingSlug(wanted);
}
