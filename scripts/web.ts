/** Builds the page: `web/` becomes `dist/web/`. File names hold a digest, so that browsers keep them for ever, but for `index.html`. Prints sizes. */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { licencesOf } from './licences.ts';
import { firstViewOf, gzipKilobytes } from './web/first-view.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist/web');

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });

const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: ['web/main.tsx', 'web/theme.ts', 'web/style.css', 'web/icon.svg'],
  outdir: 'dist/web/assets',
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  loader: { '.svg': 'copy' },
  bundle: true,
  // What is imported late, such as the editor, becomes a file of its own.
  splitting: true,
  plugins: [onTopOfFrame()],
  format: 'esm',
  minify: true,
  metafile: true,
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  // They are in a file of their own.
  legalComments: 'none',
  logLevel: 'warning',
});

const names = Object.entries(metafile.outputs).flatMap(([file, { entryPoint }]) =>
  entryPoint === undefined ? [] : [[basename(entryPoint).replace(/\.tsx?$/, '.js'), basename(file)] as const],
);
const html = names.reduce(
  (text, [written, hashed]) => text.replace(`/assets/${written}"`, `/assets/${hashed}"`),
  readFileSync(join(root, 'web/index.html'), 'utf8'),
);
// Else a browser would learn of these only once it has read what imports them.
const imported = Object.values(metafile.outputs)
  .filter(({ entryPoint }) => entryPoint === 'web/main.tsx')
  .flatMap(({ imports }) => imports.filter(({ kind }) => kind === 'import-statement'))
  .map(({ path }) => `<link rel="modulepreload" href="/assets/${basename(path)}">\n    `);
const preloading = html.replace('<script type="module"', `${imported.join('')}<script type="module"`);
writeFileSync(join(dist, 'index.html'), preloading);
writeFileSync(
  join(dist, 'assets/licences.txt'),
  `${licencesOf(root, Object.keys(metafile.inputs)).join('\n\n')}\n`,
);

const sizes = Object.keys(metafile.outputs)
  .sort()
  .map((file) => `${file} ${gzipKilobytes([join(root, file)]).toFixed(1)} kB`);
const firstView = gzipKilobytes(firstViewOf(dist)).toFixed(1);
process.stdout.write(
  `${sizes.join('\n')}\nthe first view of the page: ${firstView} kB of script and style (gzip)\n`,
);

/**
 * Late modules import the frame. So esbuild keeps the frame in one file, instead of one for each way in which its parts are
 * shared: many small files compress badly.
 */
function onTopOfFrame(): Plugin {
  const web = join(root, 'web/');
  return {
    name: 'on-top-of-frame',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) => {
        const file = resolve(resolveDir, path);
        const isLate = kind === 'dynamic-import' && file.startsWith(web);
        return isLate ? { path: file, pluginData: { isLate } } : undefined;
      });
      onLoad({ filter: /\.tsx?$/ }, ({ path, pluginData }) =>
        pluginData?.isLate
          ? {
              contents: `${readFileSync(path, 'utf8')}\nimport ${JSON.stringify(join(web, 'shell.tsx'))};`,
              loader: extname(path).slice(1) as 'ts' | 'tsx',
              resolveDir: dirname(path),
            }
          : undefined,
      );
    },
  };
}
