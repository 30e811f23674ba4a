const { SIGNALBOX_TEST_SEED: seed = '', SIGNALBOX_TEST_RUNS: runs = '' } = process.env;

/** Every run of the tests tries the same cases: what fails was changed, and had no bad luck. */
const USUAL_SEED = 20_261_128;

/** Of the cases that properties try; undefined lets each take one of its own, which its failure tells. */
export const SEED = seed === 'random' ? undefined : whole('SIGNALBOX_TEST_SEED', seed, [-(2 ** 31), USUAL_SEED]);

/** How many times the usual cases they try, and take the time for. */
export const TIMES = whole('SIGNALBOX_TEST_RUNS', runs, [1, 1]);

function whole(name: string, text: string, [least, usual]: readonly [number, number]): number {
  if (text === '') return usual;
  const number = Number(text);
  if (Number.isInteger(number) && number >= least && number < 2 ** 31) return number;
  throw new Error(
    `${name} is "${text}": it must be a whole number${least > 0 ? ' from 1' : ', or "random"'}, or be left unset`,
  );
}
