/** A fault of an archive. The message goes to the pusher. */
export class ArchiveFault extends Error {
  override readonly name = 'ArchiveFault';
}
