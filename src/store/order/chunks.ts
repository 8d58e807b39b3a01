/** Where the chunks of orders lie. */

import type { Connection } from '../connection.ts';
import type { ReadChunk } from './list.ts';

export function chunkReader(connection: Connection): ReadChunk {
  const read = connection.prepare<[number], Buffer>('SELECT content FROM order_chunks WHERE id = ?').pluck();
  return (id) => {
    const content = read.get(id);
    if (!content) throw new Error(`order_chunks has no ${id}`);
    return content;
  };
}
