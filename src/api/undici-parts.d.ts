/** The part of undici that is used, by itself: all of it would load `fetch`, caches and WebSocket as well, for twice the time. */

declare module 'undici/lib/dispatcher/pool.js' {
  export { Pool as default } from 'undici';
}
