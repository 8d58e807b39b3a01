/** Everything that can speak against the completeness of a walk. */
export type Anomaly =
  /** The snapshot is older than that of the walk before. */
  | 'backwards'
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
  /** A page too short to be joined to the next: it leaves no row to meet again. */
  | 'unanchored'
  /** Fewer rows came than `total` says there are. */
  | 'total'
  /** More rows came in above what was read than were found there; of a dataset that gives no total. */
  | 'unfound'
  /** New rows kept coming in at the beginning. */
  | 'restless-head'
  /** The envelope does not say where the dataset ends; it was read until nothing new came. */
  | 'inferred-end'
  /** Which rows the walk had met before it was interrupted is no longer known. */
  | 'forgotten'
  | 'stuck'
  | 'bound';
