/** Starts the page. */

import { render } from 'preact';
import { keepLive } from './live.ts';
import { followLinks } from './router.ts';
import { Shell } from './shell.tsx';

const place = document.getElementById('page');
if (place) {
  followLinks();
  keepLive();
  render(<Shell />, place);
}
