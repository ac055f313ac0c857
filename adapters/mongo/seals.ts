// The check on the master secret in MongoDB: a document that the first insert makes and nothing changes.
import type { Collection } from 'mongodb';
import type { SealStore } from '../../src/ports/seals.ts';
import { isDuplicate } from './failure.ts';

export interface SealRow {
  readonly _id: string;
  readonly value: string;
}

export function mongoSeals(seals: Collection<SealRow>): SealStore {
  return {
    async first(name, value) {
      try {
        await seals.insertOne({ _id: name, value });
        return value;
      } catch (error) {
        if (!isDuplicate(error)) throw error;
      }
      return (await seals.findOne({ _id: name }))?.value ?? value;
    },
  };
}
