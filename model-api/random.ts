/** Seeded chance: the same seeds give the same numbers on every machine. */

/** A number in [0, 1). */
export type Random = () => number;

/** Mulberry32 over all seeds mixed together. Not for secrets. */
export function seededRandom(...seeds: readonly number[]): Random {
  let state = seeds.reduce((mixed, seed) => scramble(mixed ^ Math.trunc(seed)), 0x2545f491);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A bijection of 32-bit integers: distinct serials stay distinct, and look unordered. */
export function scramble(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** A whole number from `min` to `max`, both included. */
export function integer(random: Random, min: number, max: number): number {
  return min + Math.floor(random() * (max - min + 1));
}

/** A number from `min` up to `max`, rounded to `digits` decimal places. */
export function decimal(random: Random, min: number, max: number, digits = 2): number {
  const scale = 10 ** digits;
  return Math.round((min + random() * (max - min)) * scale) / scale;
}

export function pick<T>(random: Random, choices: readonly [T, ...T[]]): T {
  return choices[Math.floor(random() * choices.length)] ?? choices[0];
}

/** `count` different choices, in the order in which they are listed. */
export function pickSome<T>(random: Random, choices: readonly T[], count: number): T[] {
  const wanted = Math.min(count, choices.length);
  const picked: T[] = [];
  for (const [place, choice] of choices.entries()) {
    const stillToSee = choices.length - place;
    if (random() * stillToSee < wanted - picked.length) picked.push(choice);
  }
  return picked;
}

export function chance(random: Random, probability: number): boolean {
  return random() < probability;
}

/** `digits` hexadecimal digits. */
export function hex(random: Random, digits: number): string {
  let text = '';
  while (text.length < digits)
    text += Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  return text.slice(0, digits);
}

/** A version 4 UUID. */
export function uuid(random: Random): string {
  const digits = hex(random, 32);
  const variant = '89ab'[Math.floor(random() * 4)];
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `4${digits.slice(13, 16)}`,
    `${variant}${digits.slice(17, 20)}`,
    digits.slice(20),
  ].join('-');
}

/** A copy in another order. */
export function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item) => ({ item, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}
