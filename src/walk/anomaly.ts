/** Everything that can speak against the completeness of a walk. */
export type Anomaly =
  /** The snapshot was replaced more often than the walk could begin again. */
  | 'torn'
  /** The answer says another offset than was asked for. */
  | 'offset'
  /** `returned` is not the number of rows. */
  | 'returned'
  /** A row came again where only new ones can be. */
  | 'repeat'
  /** A new row came before one read earlier: the order changed. */
  | 'disorder'
  /** No row read before was found again. */
  | 'lost'
  /** Nothing but the anchor came, though more was promised. */
  | 'lone-anchor'
  /** A row without a readable key. */
  | 'unkeyed'
  /** An empty page that promised more. */
  | 'empty'
  /** The number of rows is not `total`. */
  | 'total'
  /** New rows kept coming in at the beginning. */
  | 'restless-head'
  /** The envelope does not say where the dataset ends; it was read until nothing new came. */
  | 'inferred-end'
  | 'stuck'
  | 'bound';
