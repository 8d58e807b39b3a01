/**
 * What the suite needs of an implementation of the specification, so that it can be asked over HTTP like any other.
 * What is optional moves the world around it: tests that need it are skipped where it is not given.
 */

import type { ListName, Scope } from './specification.ts';

/**
 * Starts it on 127.0.0.1. It keeps the same rows until it is closed, at least 101 in every list, so that no page holds
 * them all. About a hundred calls come with wrong keys: were it to limit those, they would not be answered as specified.
 */
export type Start = () => Promise<Service>;

export type Service = {
  /** The rows of every list as they are to be answered, in their order. */
  readonly rows: Readonly<Record<ListName, readonly unknown[]>>;
  /** An account of its own, without limits where none are given. */
  openAccount(limits?: AccountLimits): Promise<Account>;
  /** Moves its clock on. */
  advance?(ms: number): void | Promise<void>;
  /** Keeps every call that is let in from being answered. */
  hold?(): Held | Promise<Held>;
  /** Makes unavailable what all lists need, until the function that comes back is called. */
  interrupt?(): Resume | Promise<Resume>;
  /** All that it has recorded so far: its log, its files. */
  recorded?(): string | Promise<string>;
  close(): Promise<void>;
};

export type Account = {
  /** Base address, without a slash at its end. */
  readonly url: string;
  issueKey(terms: KeyTerms): Promise<string>;
  /** The key is inactive from now on. */
  revokeKey(key: string): void | Promise<void>;
};

export type KeyTerms = {
  readonly scopes: readonly Scope[];
  /** From now; negative for a key that has already expired. */
  readonly expiresInMs?: number;
  /** The only addresses from which it may be used. */
  readonly addresses?: readonly string[];
};

export type AccountLimits = {
  readonly quota?: { readonly calls: number; readonly periodMs: number };
  /** So many calls a period; `burst` of them may come at once after a rest. */
  readonly rate?: { readonly calls: number; readonly periodMs: number; readonly burst: number };
  readonly concurrency?: number;
};

export type Held = {
  /** Calls that are held. */
  count(): number;
  /** They are answered, and no more are held. */
  release(): void;
};

export type Resume = () => void | Promise<void>;
