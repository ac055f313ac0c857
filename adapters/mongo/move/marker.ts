// The marker of a move in the database that it fills: its hub, its progress and its end.
import type { Collection, Db } from 'mongodb';
import { HubError } from '../../../src/shared/error.ts';

export interface MoveMarker {
  readonly _id: string;
  /** The hub whose data is moved. */
  readonly hubId: string;
  readonly startedAt: number;
  /** By kind: how many of its records are written, in the order of the source. */
  readonly written: { readonly [kind: string]: number };
  readonly endedAt: number | null;
}

export const markerId = 'move';
export const markers = (db: Db): Collection<MoveMarker> => db.collection<MoveMarker>('moves');

/** @throws HubError conflict for a database that a move has not filled yet */
export async function refuseUnfinishedMove(db: Db): Promise<void> {
  const marker = await markers(db).findOne({ _id: markerId });
  if (!marker || marker.endedAt !== null) return;
  throw new HubError(
    'conflict',
    'A move into this database has not ended, so it contains only a part of the data. Run `reeve move` again until it ends.',
  );
}
