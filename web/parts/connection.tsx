/** Whether what is shown is current: said in a word always, and in a sentence where something is to be known. */

import { useLive } from '../live.ts';
import { Ago } from './time.tsx';

const words = {
  connecting: 'connecting',
  live: 'live',
  stale: 'not live',
  away: 'service away',
  login: 'not signed in',
} as const;

export function Connection() {
  const { connection, overview, trouble } = useLive();
  const seen = overview && (
    <>
      {' '}
      What is shown is of <Ago at={overview.at} />.
    </>
  );
  return (
    <div class={`connection ${connection}`} role="status">
      <span class="word">
        <span class="dot" aria-hidden="true" /> {words[connection]}
      </span>
      {connection === 'stale' && (
        <p class="sentence">Changes do not arrive by themselves; connecting again.{seen}</p>
      )}
      {connection === 'away' && <p class="sentence">The service went away; trying again.{seen}</p>}
      {connection === 'login' && (
        <p class="sentence">
          {trouble?.message}. <code>market-mirror keys page</code> prints a new link.{' '}
          <a href="/" target="_self">
            Sign in
          </a>
        </p>
      )}
    </div>
  );
}
