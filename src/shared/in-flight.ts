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

  /** How many more there is room for. */
  get room(): number {
    return this.limits.atOnce - this.#work.size;
  }

  /** Those who have as much at work as one may. */
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

  /** Resolves when none is at work any more. */
  async idle(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work.keys());
  }
}
