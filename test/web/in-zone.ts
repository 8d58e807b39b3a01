/** @param zone such as `Europe/Berlin`: what clocks show meanwhile. */
export function inZone(zone: string, act: () => void): void {
  const before = process.env['TZ'];
  process.env['TZ'] = zone;
  try {
    act();
  } finally {
    if (before === undefined) delete process.env['TZ'];
    else process.env['TZ'] = before;
  }
}
