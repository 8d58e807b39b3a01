/** The two files of an export: the data, and the receipt that says what it was made of. */

import { basename } from 'node:path';
import type { Exported, Receipt } from '../export.ts';
import { openTarget, type Target } from './target.ts';

export type Files = { data: Target; commit(exported: Exported): Promise<Receipt>; close(): Promise<void> };

/** The file, and its receipt beside it: both places are taken, or none. */
export async function openFiles(output: string, force: boolean): Promise<Files> {
  const data = await openTarget(output, force);
  const meta = await openTarget(`${output}.meta.json`, force).catch(async (thrown: unknown) => {
    await data.close();
    throw thrown;
  });
  return {
    data,
    async commit(exported) {
      const receipt = { ...exported, file: basename(output), ...(await data.commit()) };
      await meta.write(`${JSON.stringify(receipt, null, 2)}\n`);
      await meta.commit();
      return receipt;
    },
    async close() {
      await data.close();
      await meta.close();
    },
  };
}
