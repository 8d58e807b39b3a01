/** What an attack is. All of them are listed in `attacks.ts`. */

import type { Random } from '../../../model-api/index.ts';
import type { Consumer } from '../consumer.ts';
import type { World } from '../world.ts';

export type Attack = {
  name: string;
  about: string;
  /** How long it lasts, least and most, in milliseconds. */
  lasts: readonly [number, number];
  /** Whether daemon and Redis are killed at random beside it. */
  kills: boolean;
  /** It is on others who follow the mirror: the consumer rests meanwhile, and leaves them the machine. */
  isOfFollowers?: true;
  /** Why it cannot be done here; undefined where it can. */
  impossible?: (world: World) => string | undefined;
  /** Begins it. What it returns ends it. @throws Broken where the program breaks a promise meanwhile. */
  begin(world: World, random: Random, consumer: Consumer): Promise<End>;
};

export type End = () => Promise<void> | void;

/** A promise that was broken. */
export class Broken extends Error {
  override readonly name = 'Broken';
}

export function expectThat(holds: boolean, promise: string): void {
  if (!holds) throw new Broken(promise);
}
