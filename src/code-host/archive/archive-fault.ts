/** What is wrong with an archive: a sentence for the person whose push it was. */
export class ArchiveFault extends Error {
  override readonly name = 'ArchiveFault';
}
