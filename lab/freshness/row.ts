/** A row of a simulated dataset, and what the mirror keeps of it. */

export type Row = {
  readonly key: string;
  readonly cameAt: number;
  /** Infinite while it is there. */
  goneAt: number;
  /** When it changed since the mirror last read it. */
  unread: number[];
  /** What the mirror keeps of it. */
  copy: Copy;
};

export type Copy = {
  isHeld: boolean;
  /** The look that changed it last. */
  changedIn: number;
  /** The pass that met it last. */
  metIn: number;
};
