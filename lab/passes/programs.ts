/** What is measured runs as users run it: compiled, without a loader. The programs of the lab are compiled when they are first needed. */

import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { built } from '../../test/helpers/built.ts';

const compiled = ['gauge', 'bare-loop', 'naive', 'large-api'] as const;
export type Program = (typeof compiled)[number];

const folder = fileURLToPath(new URL('../../dist/lab/', import.meta.url));
let made: Promise<unknown> | undefined;

/** The file of a program of this folder. */
export async function program(name: Program): Promise<string> {
  made ??= build({
    entryPoints: compiled.map((each) => fileURLToPath(new URL(`${each}.ts`, import.meta.url))),
    outdir: folder,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    logLevel: 'warning',
  });
  await made;
  return `${folder}${name}.js`;
}

/** The program that users run, as `npm run build` made it. */
export const cli = () => fileURLToPath(built('src/cli.js'));

export const python = fileURLToPath(new URL('bare_loop.py', import.meta.url));
