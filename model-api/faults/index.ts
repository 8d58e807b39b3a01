/** Scripted faults: functions from the planned answer to the one that is sent, and when they strike. */

export * from './answers.ts';
export * from './bodies.ts';
export * from './connections.ts';
export * from './pages.ts';
export { applyFaults, type Fault, type FaultScript, type Match, when } from './script.ts';
