/** Modules of the sources in a process of their own, which runs a script that imports them. */

/** Before `-e` and the script. */
export const nodeOfSources = ['--import', import.meta.resolve('tsx'), '--input-type=module'];

/** @param file such as `store.ts`. */
export function sourceAddress(file: string): string {
  return new URL(`../../src/${file}`, import.meta.url).href;
}
