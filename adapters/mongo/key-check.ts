// The check on the master secret in MongoDB: a document that the first insert makes and nothing changes.
import type { Collection } from 'mongodb';
import type { KeyCheckStore } from '../../src/shared/ports/key-check.ts';
import { unlessTaken } from './failure.ts';

export interface KeyCheckRow {
  readonly _id: string;
  readonly value: string;
}

export function mongoKeyCheck(seals: Collection<KeyCheckRow>): KeyCheckStore {
  return {
    async first(name, value) {
      if (await unlessTaken(seals.insertOne({ _id: name, value }))) return value;
      return (await seals.findOne({ _id: name }))?.value ?? value;
    },
  };
}
