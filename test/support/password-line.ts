import { hashPassword } from '../../src/people/accounts/passwords.js';

/** Takes all places in the line of passwords, and ends when its work is done. */
export async function fillLine(): Promise<{ readonly done: Promise<unknown> }> {
  const works: Promise<string>[] = [];
  for (;;) {
    const work = hashPassword('fills the line');
    const isRefused = work.then(
      () => false,
      () => true,
    );
    if (await Promise.race([isRefused, new Promise((go) => setImmediate(go, false))]))
      return { done: Promise.all(works) };
    works.push(work);
  }
}
