/** Whether what is shown is current: said in a word always, and in a sentence where something is to be known. */

import { useLive } from '../live.ts';
import { Ago } from './time.tsx';

const words = {
  connecting: 'connecting',
  live: 'live',
  stale: 'not live',
  away: 'service away',
  unread: 'no mirror to read',
  login: 'not signed in',
} as const;

export function Connection() {
  const { connection, overview, trouble } = useLive();
  const isOld = overview !== null && ['stale', 'away', 'unread'].includes(connection);
  return (
    <div class={`connection ${connection}`}>
      <div role="status">
        <span class="word">
          <span class="dot" aria-hidden="true" /> {words[connection]}
        </span>
        {connection === 'stale' && <p>Changes do not arrive by themselves; connecting again.</p>}
        {connection === 'away' && <p>The service went away; trying again.</p>}
        {connection === 'unread' && <p>The service cannot read the mirror; trying again.</p>}
        {connection === 'login' && (
          <p>
            {trouble?.message}. <code>market-mirror keys page</code> prints a new link.{' '}
            <a href="/" target="_self">
              Sign in
            </a>
          </p>
        )}
      </div>
      {/* Outside of what is read out when it changes: this changes each second. */}
      {isOld && (
        <p>
          What is shown is of <Ago at={overview.at} />.
        </p>
      )}
    </div>
  );
}
