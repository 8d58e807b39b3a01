/** All rows of an answer as a file, with its receipt: what is in it, as of when, and what of it is proven. */

import { useState } from 'preact/hooks';
import type { Download, DownloadQuestion } from '../../src/serve/ui/wire.ts';
import { prepareDownload, type QueryProblem } from '../service.ts';
import type { Sql } from '../sql.ts';
import { Failed } from './states.tsx';

const formats = { csv: 'CSV', ndjson: 'NDJSON', parquet: 'Parquet' } as const;
type Format = DownloadQuestion['format'];

type DownloadMenuProps = {
  question: Sql;
  /** The same with the columns that are shown alone, where there are others. */
  visible?: Sql;
  /** How the file's name begins. */
  name?: string;
  /** The moment that is shown; null for now. */
  asOf: string | null;
};

export function DownloadMenu({ question, visible, name, asOf }: DownloadMenuProps) {
  const [isVisibleOnly, setVisibleOnly] = useState(false);
  const [begun, setBegun] = useState<(Download & { format: Format }) | null>(null);
  const [problem, setProblem] = useState<QueryProblem | null>(null);
  const begin = async (format: Format) => {
    setBegun(null);
    setProblem(null);
    const { value, problem: refused } = await prepareDownload({
      ...(visible && isVisibleOnly ? visible : question),
      ...{ asOf, format, ...(name && { name }) },
    });
    if (refused) return setProblem(refused);
    setBegun({ ...value, format });
    const link = document.createElement('a');
    link.href = value.path;
    link.download = '';
    link.click();
  };
  return (
    <details class="menu">
      <summary class="button">Download</summary>
      <div class="menu-box">
        <p class="note">
          All rows that are found, not this page alone{visible && ', with all their columns'}.
        </p>
        {visible && (
          <label>
            <input type="checkbox" checked={isVisibleOnly} onChange={() => setVisibleOnly(!isVisibleOnly)} />{' '}
            Visible columns only
          </label>
        )}
        <div class="tools">
          {(Object.keys(formats) as Format[]).map((format) => (
            <button key={format} type="button" onClick={() => begin(format)}>
              {formats[format]}
            </button>
          ))}
        </div>
        <div role="status">
          {begun && (
            <p>
              The {formats[begun.format]} file is on its way.{' '}
              <a href={begun.receiptPath} target="_blank" rel="noopener noreferrer">
                Its receipt
              </a>{' '}
              is there once it is whole.
            </p>
          )}
        </div>
        {problem && <Failed problem={problem} />}
      </div>
    </details>
  );
}
