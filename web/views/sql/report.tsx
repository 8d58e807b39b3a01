/** A query as a report: the text of a file for the folder of reports. The service writes none. */

import { useState } from 'preact/hooks';
import { Copy } from '../../parts/cell.tsx';
import { Dialog } from '../../parts/menus.tsx';
import { parametersOf } from './parameters.ts';

export function AsReport({ sql }: { sql: string }) {
  const [isOpen, setOpen] = useState(false);
  const text = `-- title: My report\n-- run: every 1h\n-- fresh: 1h\n-- to: my-report-{date}.csv\n${sql.trim()}\n`;
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        As a report
      </button>
      {isOpen && (
        <Dialog title="As a report" close={() => setOpen(false)}>
          <p>
            Save this as <code>my-report.sql</code> in the folder that <code>MIRROR_REPORTS</code> names. The
            daemon runs it then; <code>market-mirror report --check</code> says whether it is right.
            {parametersOf(sql).length > 0 && ' A report has no parameters: write their values instead.'}
          </p>
          <Copy text={text} />
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
          <pre class="whole" tabIndex={0}>
            {text}
          </pre>
        </Dialog>
      )}
    </>
  );
}
