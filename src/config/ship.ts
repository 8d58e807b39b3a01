/** Where the mirror is shipped to: given as an address, or as a file that holds one. */

import { readFileSync } from 'node:fs';
import { Failure } from '../errors.ts';
import { readShipUrl, type ShipAddress } from './addresses.ts';

/** @throws Failure `config` where both are given, or the file holds no address; what it holds is never shown. */
export function readShipAddress(given: {
  address: ShipAddress | undefined;
  file: string | undefined;
}): ShipAddress | undefined {
  const { address, file } = given;
  if (address && file !== undefined)
    throw new Failure('config', 'MIRROR_SHIP and MIRROR_SHIP_FILE are both set: unset one');
  return file === undefined ? address : addressIn(file);
}

function addressIn(file: string): ShipAddress {
  try {
    return readShipUrl(readFileSync(file, 'utf8').trim());
  } catch (thrown) {
    if (thrown instanceof Failure)
      throw new Failure('config', `MIRROR_SHIP_FILE: what ${file} holds ${thrown.message}`);
    const { code } = thrown as NodeJS.ErrnoException;
    throw new Failure('config', `MIRROR_SHIP_FILE: ${file} cannot be read (${code})`);
  }
}
