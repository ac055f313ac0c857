// The steps that bring a database from one schema to the next. CONTRIBUTING.md describes how a step is added.
// Keeps promise P79.
import type { Db } from 'mongodb';
import { fillFields } from './fill-fields.ts';

/** One change of stored documents. */
export interface DatabaseStep {
  /** The number of the databases that it changes. */
  readonly from: number;
  readonly to: number;
  /**
   * Changes the documents, a bounded number at a time. The number follows once all are changed: after a kill, and by
   * two nodes that start at once, it is called again.
   */
  readonly fill: (db: Db) => Promise<void>;
}

/** In order. A step never changes once a build with it has run; a newer one follows it. */
export const schemaSteps: readonly DatabaseStep[] = [{ from: 1, to: 1001, fill: fillFields }];
