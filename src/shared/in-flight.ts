/**
 * Work that runs beside the loop that started it, so that one slow item does not delay the others. Each item has an
 * owner, and no owner may use all the capacity.
 */
export class InFlight {
  readonly #work = new Map<Promise<void>, string>();

  constructor(
    private readonly limits: { readonly atOnce: number; readonly each: number },
    private readonly onError: (error: unknown) => void,
  ) {}

  /** The number of further items that may start. */
  get room(): number {
    return this.limits.atOnce - this.#work.size;
  }

  /** The owners that have reached their limit. */
  get busy(): readonly string[] {
    const counts = new Map<string, number>();
    for (const owner of this.#work.values()) counts.set(owner, (counts.get(owner) ?? 0) + 1);
    return [...counts].filter(([, count]) => count >= this.limits.each).map(([owner]) => owner);
  }

  begin(owner: string, work: () => Promise<void>): void {
    const piece: Promise<void> = work()
      .catch(this.onError)
      .finally(() => this.#work.delete(piece));
    this.#work.set(piece, owner);
  }

  /** Resolves when no work is running. */
  async idle(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work.keys());
  }
}
