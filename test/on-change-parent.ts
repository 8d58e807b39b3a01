/** A process to be killed while the command that it is given runs. */

import { runCommand } from '../src/on-change.ts';

const command = process.argv[2] ?? '';
const times = { most: 600_000, grace: 2_000 };
await runCommand(command, { PATH: process.env['PATH'] }, times, () => {}, new AbortController().signal);
